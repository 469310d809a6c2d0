//! Requests and limits of containers, and what they come to for a pod.

use super::config::KubeletConfig;
use crate::fulfilment::quantity::kubernetes;
use crate::yaml::Yaml;

/// Resources, with the parts in which they are counted: CPUs in thousandths, memory in bytes.
const RESOURCES: [(&str, u64); 9] = [
    ("cpu", 1000),
    ("memory", 1),
    ("hugepages-2Mi", 1),
    ("hugepages-1Gi", 1),
    ("hugepages-64Ki", 1),
    ("hugepages-16Mi", 1),
    ("hugepages-32Mi", 1),
    ("hugepages-512Mi", 1),
    ("hugepages-16Gi", 1),
];
/// The place of CPUs among them.
pub(super) const CPU: usize = 0;
/// The place of memory among them.
pub(super) const MEMORY: usize = 1;

/// Huge pages by size: their place, and their files on cgroup2 and v1.
pub(super) const HUGE: [(usize, &str, &str); 7] = [
    (2, "hugetlb.2MB.max", "hugetlb.2MB.limit_in_bytes"),
    (3, "hugetlb.1GB.max", "hugetlb.1GB.limit_in_bytes"),
    (4, "hugetlb.64KB.max", "hugetlb.64KB.limit_in_bytes"),
    (5, "hugetlb.16MB.max", "hugetlb.16MB.limit_in_bytes"),
    (6, "hugetlb.32MB.max", "hugetlb.32MB.limit_in_bytes"),
    (7, "hugetlb.512MB.max", "hugetlb.512MB.limit_in_bytes"),
    (8, "hugetlb.16GB.max", "hugetlb.16GB.limit_in_bytes"),
];

/// The name of a resource by its place.
pub(super) fn name(at: usize) -> &'static str {
    RESOURCES[at].0
}

/// Of what a container asks for, what is not an amount of these: `limits.nvidia.com/gpu: 1`.
pub(super) fn others(own: Option<&Yaml>) -> Vec<String> {
    let mut others = Vec::new();
    for part in ["requests", "limits", "claims"] {
        let Some(all) = own.and_then(|own| own.get(part)) else { continue };
        let is_other = |key: &&str| RESOURCES.iter().all(|(name, _)| name != key);
        others.extend(all.keys().into_iter().filter(is_other).map(|key| format!("{part}.{key}")));
        others.extend((part == "claims").then(|| part.to_owned()));
    }
    others
}

/// An amount of each resource, as far as one is asked for.
type Amounts = [Option<u64>; RESOURCES.len()];

/// What a container asks for. A request that is missing is the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Resources {
    pub(super) requests: Amounts,
    pub(super) limits: Amounts,
}

fn amounts(own: Option<&Yaml>, path: &str, called: &str) -> Result<Amounts, String> {
    let mut all = Amounts::default();
    for (amount, (name, parts)) in all.iter_mut().zip(RESOURCES) {
        let Some(text) = own.and_then(|own| own.text(&format!("{path}{name}"))) else { continue };
        let wrong = || format!("{} `{text}` is no amount", called.replace('*', name));
        *amount = Some(kubernetes(text, parts).ok_or_else(wrong)?);
    }
    Ok(all)
}

fn each(one: Amounts, other: Amounts, with: impl Fn(u64, u64) -> u64) -> Amounts {
    std::array::from_fn(|at| match (one[at], other[at]) {
        (Some(one), Some(other)) => Some(with(one, other)),
        (one, other) => one.or(other),
    })
}

impl Resources {
    pub(super) fn read(own: Option<&Yaml>) -> Result<Self, String> {
        let limits = amounts(own, "limits.", "limits.*")?;
        let requests = amounts(own, "requests.", "requests.*")?;
        Ok(Self { requests: each(requests, limits, |own, _| own), limits })
    }

    fn each(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            requests: each(self.requests, other.requests, &with),
            limits: each(self.limits, other.limits, &with),
        }
    }

    fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    fn most(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    fn is_guaranteed(&self) -> bool {
        [CPU, MEMORY]
            .into_iter()
            .all(|at| self.limits[at].is_some() && self.requests[at] == self.limits[at])
    }

    /// Huge pages count for no class.
    fn is_best_effort(&self) -> bool {
        [CPU, MEMORY].into_iter().all(|at| self.requests[at].is_none() && self.limits[at].is_none())
    }

    /// Only whole CPUs are given to a container alone.
    pub(super) fn has_whole_cpus(&self) -> bool {
        self.requests[CPU].is_some_and(|milli| milli > 0 && milli.is_multiple_of(1000))
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
pub(super) struct PodResources {
    pub(super) qos: Qos,
    /// A limit only of what each of its containers is limited in, as the kubelet limits a pod.
    pub(super) sum: Resources,
    has_whole_cpus: bool,
}

impl PodResources {
    pub(super) fn read(spec: &Yaml) -> Result<Self, String> {
        let read = |one: &Yaml| Resources::read(one.get("resources"));
        let main: Vec<Resources> =
            spec.list("containers").iter().map(read).collect::<Result<_, _>>()?;
        let goes_on = |one: &Yaml| one.text("restartPolicy") == Some("Always");
        let first = spec.list("initContainers").iter().map(|one| Ok((goes_on(one), read(one)?)));
        let first: Vec<(bool, Resources)> = first.collect::<Result<_, String>>()?;
        let own = spec.get("resources").map(|own| Resources::read(Some(own))).transpose()?;
        let all: Vec<Resources> =
            main.iter().copied().chain(first.iter().map(|one| one.1)).collect();
        let has_whole_cpus = main.iter().any(Resources::has_whole_cpus);
        let mut sum = total(&main, &first);
        // The overhead of the pod's runtime class counts for requests, and for limits that exist.
        let overhead = amounts(Some(spec), "overhead.", "overhead")?;
        let limits = std::array::from_fn(|at| overhead[at].filter(|_| sum.limits[at].is_some()));
        sum = sum.plus(Resources { requests: overhead, limits });
        for (at, limit) in sum.limits.iter_mut().enumerate() {
            *limit = limit.filter(|_| all.iter().all(|one| one.limits[at].is_some()));
        }
        // Resources of the pod itself stand for those of its containers.
        let sum = own.unwrap_or_default().each(sum, |own, _| own);
        let qos = qos(own.as_ref().map_or(all.as_slice(), std::slice::from_ref));
        Ok(Self { qos, sum, has_whole_cpus })
    }

    /// Whether the CPU manager may give CPUs to a container of it alone.
    pub(super) fn is_exclusive(&self, config: Option<&KubeletConfig>) -> bool {
        let gives = config.is_some_and(|config| config.gives_cpus);
        gives && self.qos == Qos::Guaranteed && self.has_whole_cpus
    }
}

fn qos(all: &[Resources]) -> Qos {
    if all.iter().all(Resources::is_best_effort) {
        Qos::BestEffort
    } else if all.iter().all(Resources::is_guaranteed) {
        Qos::Guaranteed
    } else {
        Qos::Burstable
    }
}

/// Containers run at once, and so do those of the beginning that go on; the others run one after the other, before.
fn total(main: &[Resources], first: &[(bool, Resources)]) -> Resources {
    let (mut going_on, mut most) = (Resources::default(), Resources::default());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::documents;

    fn of(spec: &str) -> PodResources {
        PodResources::read(&documents(spec).unwrap()[0]).unwrap()
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
        assert_eq!(pod.sum.requests[CPU], Some(960));
        assert_eq!(pod.sum.requests[MEMORY], Some(1 << 20));
        assert!(pod.sum.limits.iter().all(Option::is_none));
    }
}
