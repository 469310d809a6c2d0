//! Requests and limits of containers, and what they come to for a pod.

use super::config::KubeletConfig;
use crate::fulfilment::quantity::kubernetes;
use crate::yaml::Yaml;

/// What a container asks for: CPUs in thousandths, memory in bytes. A request that is missing is the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) cpu_request: Option<u64>,
    pub(super) cpu_limit: Option<u64>,
    pub(super) memory_request: Option<u64>,
    pub(super) memory_limit: Option<u64>,
}

impl Amounts {
    pub(super) fn read(resources: Option<&Yaml>) -> Result<Self, String> {
        let amount = |kind: &str, name: &str, parts: u64| {
            let text = resources.and_then(|one| one.text(&[kind, name]));
            text.map(|text| {
                kubernetes(text, parts).ok_or(format!("{kind}.{name} `{text}` is no amount"))
            })
            .transpose()
        };
        let cpu_limit = amount("limits", "cpu", 1000)?;
        let memory_limit = amount("limits", "memory", 1)?;
        Ok(Self {
            cpu_request: amount("requests", "cpu", 1000)?.or(cpu_limit),
            cpu_limit,
            memory_request: amount("requests", "memory", 1)?.or(memory_limit),
            memory_limit,
        })
    }

    fn each(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(with(one, other)),
            (one, other) => one.or(other),
        };
        Self {
            cpu_request: both(self.cpu_request, other.cpu_request),
            cpu_limit: both(self.cpu_limit, other.cpu_limit),
            memory_request: both(self.memory_request, other.memory_request),
            memory_limit: both(self.memory_limit, other.memory_limit),
        }
    }

    fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    fn most(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    fn is_guaranteed(&self) -> bool {
        self.cpu_limit.is_some()
            && self.memory_limit.is_some()
            && self.cpu_request == self.cpu_limit
            && self.memory_request == self.memory_limit
    }

    /// Only whole CPUs are given to a container alone.
    pub(super) fn has_whole_cpus(&self) -> bool {
        self.cpu_request.is_some_and(|milli| milli > 0 && milli.is_multiple_of(1000))
    }
}

/// The class of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Qos {
    Guaranteed,
    Burstable,
    BestEffort,
}

/// What a pod asks for in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodAmounts {
    pub(super) qos: Qos,
    pub(super) sum: Amounts,
    /// The kubelet limits a pod only if each of its containers is limited.
    pub(super) all_limit_cpu: bool,
    pub(super) all_limit_memory: bool,
    has_whole_cpus: bool,
}

impl PodAmounts {
    pub(super) fn read(spec: &Yaml) -> Result<Self, String> {
        let list = |key: &str| spec.get(key).map(Yaml::items).unwrap_or_default();
        let read = |one: &Yaml| Amounts::read(one.get("resources"));
        let main: Vec<Amounts> = list("containers").iter().map(read).collect::<Result<_, _>>()?;
        let first: Vec<(bool, Amounts)> = list("initContainers")
            .iter()
            .map(|one| Ok((one.text(&["restartPolicy"]) == Some("Always"), read(one)?)))
            .collect::<Result<_, String>>()?;
        let own = spec.get("resources").map(|own| Amounts::read(Some(own))).transpose()?;
        let all: Vec<Amounts> =
            main.iter().copied().chain(first.iter().map(|(_, one)| *one)).collect();
        let has_whole_cpus = main.iter().any(Amounts::has_whole_cpus);
        let sum = with_overhead(total(&main, &first), spec)?;
        // Resources of the pod itself stand for those of its containers.
        let sum = own.map_or(sum, |own| Amounts {
            cpu_request: own.cpu_request.or(sum.cpu_request),
            cpu_limit: own.cpu_limit.or(sum.cpu_limit),
            memory_request: own.memory_request.or(sum.memory_request),
            memory_limit: own.memory_limit.or(sum.memory_limit),
        });
        let limits = |of: fn(&Amounts) -> Option<u64>| {
            own.as_ref().and_then(of).is_some() || all.iter().all(|one| of(one).is_some())
        };
        Ok(Self {
            qos: qos(own.as_ref().map_or(all.as_slice(), std::slice::from_ref)),
            sum,
            all_limit_cpu: limits(|one| one.cpu_limit),
            all_limit_memory: limits(|one| one.memory_limit),
            has_whole_cpus,
        })
    }

    /// Whether the CPU manager may give CPUs to a container of it alone.
    pub(super) fn is_exclusive(&self, config: Option<&KubeletConfig>) -> bool {
        let gives = config.is_some_and(|config| config.gives_cpus);
        gives && self.qos == Qos::Guaranteed && self.has_whole_cpus
    }
}

fn qos(all: &[Amounts]) -> Qos {
    if all.iter().all(|one| *one == Amounts::default()) {
        Qos::BestEffort
    } else if all.iter().all(Amounts::is_guaranteed) {
        Qos::Guaranteed
    } else {
        Qos::Burstable
    }
}

/// Containers run at once, and so do those of the beginning that go on; the others run one after the other, before.
fn total(main: &[Amounts], first: &[(bool, Amounts)]) -> Amounts {
    let (mut going_on, mut most) = (Amounts::default(), Amounts::default());
    for (goes_on, one) in first {
        if *goes_on {
            going_on = going_on.plus(*one);
            most = most.most(going_on);
        } else {
            most = most.most(going_on.plus(*one));
        }
    }
    main.iter().fold(going_on, |sum, one| sum.plus(*one)).most(most)
}

/// The overhead of the pod's runtime class counts for requests, and for limits that exist.
fn with_overhead(sum: Amounts, spec: &Yaml) -> Result<Amounts, String> {
    let amount = |name: &str, parts: u64| {
        let text = spec.text(&["overhead", name]);
        text.map(|text| kubernetes(text, parts).ok_or(format!("overhead `{text}` is no amount")))
            .transpose()
    };
    let (cpu, memory) = (amount("cpu", 1000)?, amount("memory", 1)?);
    Ok(sum.plus(Amounts {
        cpu_request: cpu,
        cpu_limit: cpu.filter(|_| sum.cpu_limit.is_some()),
        memory_request: memory,
        memory_limit: memory.filter(|_| sum.memory_limit.is_some()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::documents;

    fn of(spec: &str) -> PodAmounts {
        PodAmounts::read(&documents(spec).unwrap()[0]).unwrap()
    }

    #[test]
    fn the_class_follows_from_requests_and_limits() {
        let one =
            |resources: &str| of(&format!("containers: [{{name: a, resources: {resources}}}]"));
        assert_eq!(one("{}").qos, Qos::BestEffort);
        assert_eq!(one("{limits: {cpu: 1, memory: 1Gi}}").qos, Qos::Guaranteed);
        let limits = "{requests: {cpu: 100m}, limits: {cpu: 1, memory: 1Gi}}";
        assert_eq!(one(limits).qos, Qos::Burstable);
        assert_eq!(one("{requests: {memory: 1Mi}}").qos, Qos::Burstable);
    }

    #[test]
    fn a_pod_asks_for_what_runs_at_once() {
        let pod = of("\
containers:
- {name: a, resources: {requests: {cpu: 100m, memory: 1Mi}}}
- {name: b, resources: {requests: {cpu: 200m}}}
initContainers:
- {name: side, restartPolicy: Always, resources: {requests: {cpu: 50m}}}
- {name: first, resources: {requests: {cpu: 900m}}}
overhead: {cpu: 10m}
");
        assert_eq!(pod.sum.cpu_request, Some(960));
        assert_eq!(pod.sum.memory_request, Some(1 << 20));
        assert!(!pod.all_limit_cpu && !pod.all_limit_memory);
    }
}
