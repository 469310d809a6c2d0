//! A single documented kernel behaviour, and what a host must have to show it.

use assay_host::facts::{Available, CORE, Hierarchy, HostFacts, UsedHierarchy};
use assay_host::knob::WEIGHT_MODE;

use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};

/// A promise of the kernel's documentation and the function that tests it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The controller by its v2 name, or `core` for the files `cgroup.*`.
    pub controller: &'static str,
    /// The behaviour as a slug, `weights-divide-a-saturated-cpu`: its name in documents.
    pub behaviour: &'static str,
    /// The behaviour in one sentence.
    pub promise: &'static str,
    /// Where the kernel documents it.
    pub documented: &'static str,
    /// Host requirements. The first need that names a controller or a hierarchy decides the
    /// hierarchy whose groups [`Fixture::write`] and similar methods use.
    pub needs: &'static [Need],
    /// Creates groups, starts probes and observes the effect.
    pub run: Run,
    /// What it may do to the rest of the machine while it runs, said before; `None` if it is harmless.
    pub warning: Option<&'static str>,
}

impl Case {
    /// The same with this warning.
    pub(crate) const fn warning(self, warning: &'static str) -> Self {
        Self { warning: Some(warning), ..self }
    }
}

/// The function of a case. An error of the kernel means that the case could not be carried out and
/// becomes `void`, never a broken promise.
pub(crate) type Run = fn(&mut Fixture) -> Result<Outcome, Stop>;

/// What several cases have in common: the fields of [`Case`] with these names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Topic {
    controller: &'static str,
    documented: &'static str,
    needs: &'static [Need],
}

impl Topic {
    pub(crate) const fn new(
        controller: &'static str,
        documented: &'static str,
        needs: &'static [Need],
    ) -> Self {
        Self { controller, documented, needs }
    }

    /// The same with these requirements instead.
    pub(crate) const fn needing(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }

    /// The same with this document instead.
    pub(crate) const fn documented_in(self, documented: &'static str) -> Self {
        Self { documented, ..self }
    }

    pub(crate) const fn case(
        self,
        behaviour: &'static str,
        promise: &'static str,
        run: Run,
    ) -> Case {
        let Self { controller, documented, needs } = self;
        Case { controller, behaviour, promise, documented, needs, run, warning: None }
    }
}

/// A requirement of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A hierarchy of either version with this controller (v2 name; `cpuacct` and `freezer`
    /// by their own).
    Controller(&'static str),
    /// The controller on cgroup v2.
    OnV2(&'static str),
    /// The controller on a cgroup v1 hierarchy.
    OnV1(&'static str),
    /// One of these controllers, the first that is on cgroup v2.
    AnyOnV2(&'static [&'static str]),
    /// Some cgroup v1 hierarchy with a controller other than cpuset, whose groups need settings
    /// before they accept processes.
    AnyV1,
    /// A cgroup2 mount, whatever controllers it has.
    V2,
    /// This kernel version or a later one.
    Kernel(u32, u32),
    /// At least this many CPUs that this process may use.
    Cpus(usize),
    /// At least this many NUMA nodes with memory.
    Nodes(usize),
    /// Pressure stall information, enabled.
    Pressure,
    /// Root.
    Root,
    /// Swap space, which a case never creates.
    Swap,
    /// An emulated machine, such as a guest of `assay lab`: the case does to it what it must not do to a host.
    Emulated,
    /// The file that selects what weights of CPU divide, `sched/cgroup_mode` in debugfs.
    WeightModes,
    /// Loop devices, for the case's own disk.
    Loop,
    /// An interface file in a group of the case, in the first hierarchy: some files depend on the
    /// kernel's configuration, which the version does not show.
    File(&'static str),
    /// The same by version: the name on v1, the name on v2.
    FileBy(&'static str, &'static str),
}

impl Need {
    /// Why the host does not meet it, as a sentence fragment; `None` if it does. [`Need::File`] is
    /// checked once the case's groups exist, and assumed met here; of [`Need::Loop`] only the
    /// privilege is checked.
    #[must_use]
    pub fn lacking(self, facts: &HostFacts) -> Option<String> {
        match self {
            Self::Controller(name) => absent(facts, name),
            Self::OnV2(name) => absent(facts, name).or_else(|| on_other(facts, name, true)),
            Self::OnV1(name) => absent(facts, name).or_else(|| on_other(facts, name, false)),
            Self::AnyOnV2(names) => match first_on_v2(facts, names) {
                Some(name) => absent(facts, name),
                None => Some(format!("none of {} is on cgroup v2", names.join(", "))),
            },
            Self::AnyV1 => match first_v1(facts) {
                Some(name) => absent(facts, name),
                None => Some("no cgroup v1 hierarchy with a controller is mounted".to_owned()),
            },
            Self::V2 => facts.cgroup.hierarchies_with([CORE]).1.remove(CORE),
            Self::Kernel(major, minor) => (version(&facts.kernel) < (major, minor))
                .then(|| format!("since Linux {major}.{minor}, this is {}", facts.kernel)),
            Self::Cpus(count) => fewer(facts.cpus.allowed.len(), count, "CPU"),
            Self::Nodes(count) => fewer(facts.memory_nodes.len(), count, "NUMA node"),
            Self::Pressure => match &facts.pressure {
                Available::Value(true) => None,
                Available::Value(false) => Some("pressure information is disabled".to_owned()),
                Available::NotAvailable(why) => Some(why.clone()),
            },
            Self::Root => (facts.effective_user != 0)
                .then(|| "needs root, because it changes what only root may".to_owned()),
            Self::Swap => (facts.swap.get() == 0)
                .then(|| "this host has no swap space, and a case never creates any".to_owned()),
            Self::Emulated => (!facts.is_emulated()).then(|| {
                "it does to the whole machine what it must not do to a host, so it runs in an emulated \
                 guest only (`assay lab exec -- assay conform`)"
                    .to_owned()
            }),
            Self::WeightModes => match facts.settings.get(WEIGHT_MODE) {
                Some(Available::Value(_)) => None,
                Some(Available::NotAvailable(why)) => Some(why.clone()),
                None => Some(format!("the facts of this host do not contain {WEIGHT_MODE}")),
            },
            Self::Loop => facts.root.reason().map(|why| {
                format!(
                    "needs root, because the kernel attaches images to loop devices only for \
                     CAP_SYS_ADMIN; {why}"
                )
            }),
            Self::File(_) | Self::FileBy(..) => None,
        }
    }
}

fn absent(facts: &HostFacts, name: &str) -> Option<String> {
    let why = facts.cgroup.hierarchies_with([name]).1.remove(name)?;
    let option = match name {
        "memory" if version(&facts.kernel) >= (6, 11) => "CONFIG_MEMCG_V1",
        "cpuset" if version(&facts.kernel) >= (6, 12) => "CONFIG_CPUSETS_V1",
        _ => return Some(format!("controller {name}: {why}")),
    };
    Some(format!("controller {name}: {why}; cgroup v1 has it only in kernels with {option}"))
}

fn on_other(facts: &HostFacts, name: &str, wants_v2: bool) -> Option<String> {
    let is_v2 = facts.cgroup.is_on_v2(name);
    let (required, actual) = if wants_v2 { ("v2", "v1") } else { ("v1", "v2") };
    (is_v2 != wants_v2).then(|| format!("of cgroup {required}; {name} is on {actual} here"))
}

fn first_on_v2<'n>(facts: &HostFacts, names: &[&'n str]) -> Option<&'n str> {
    first_with_groups(facts, names.iter().copied().filter(|name| facts.cgroup.is_on_v2(name)))
}

fn first_v1(facts: &HostFacts) -> Option<&str> {
    let on_v1 = facts.cgroup.controllers.iter().filter(|(name, controller)| {
        *name != "cpuset" && matches!(controller.hierarchy, Hierarchy::V1(_))
    });
    first_with_groups(facts, on_v1.map(|(name, _)| name.as_str()))
}

/// The first of these controllers in whose hierarchy this process may create groups; if there is
/// none, the first, for the reason.
fn first_with_groups<'n>(
    facts: &HostFacts,
    names: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let names: Vec<&str> = names.collect();
    let may = |name: &&&str| absent(facts, name).is_none();
    names.iter().find(may).or(names.first()).copied()
}

fn fewer(available: usize, required: usize, what: &str) -> Option<String> {
    let plural = if required == 1 { "" } else { "s" };
    (available < required).then(|| format!("needs {required} {what}{plural}, there is {available}"))
}

/// Major and minor number of `6.18.44-fc`; zeros if missing.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (next(), next())
}

/// The hierarchies that these needs name, in order.
pub(crate) fn hierarchies(needs: &[Need], facts: &HostFacts) -> Vec<UsedHierarchy> {
    let mut hierarchies: Vec<UsedHierarchy> = Vec::new();
    for need in needs {
        let controller = match need {
            Need::Controller(name) | Need::OnV2(name) | Need::OnV1(name) => Some(*name),
            Need::AnyOnV2(names) => first_on_v2(facts, names),
            Need::AnyV1 => first_v1(facts),
            Need::V2 => Some(CORE),
            _ => None,
        };
        for hierarchy in facts.cgroup.hierarchies_with(controller).0 {
            match hierarchies.iter_mut().find(|known| known.mount == hierarchy.mount) {
                Some(known) => known.controllers.extend(hierarchy.controllers),
                None => hierarchies.push(hierarchy),
            }
        }
    }
    hierarchies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("6.18.44-fc-v669"), (6, 18));
        assert_eq!(version("6.1.0-40-amd64"), (6, 1));
        assert!(version("6.9.0") < (6, 12));
        assert_eq!(version(""), (0, 0));
    }

    #[test]
    fn an_unmet_count_names_the_actual_count() {
        assert_eq!(fewer(1, 2, "CPU").unwrap(), "needs 2 CPUs, there is 1");
        assert_eq!(fewer(2, 2, "CPU"), None);
    }
}
