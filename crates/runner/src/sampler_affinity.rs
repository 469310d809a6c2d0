//! Where the sampling thread of a repeat sits: a CPU that no measured group may use, and a group
//! beside them.

use std::collections::{BTreeMap, BTreeSet};

use assay_cgroup::Tree;
use assay_facts::Available;
use assay_kernel::{Root, affinity};
use assay_sample::SamplerAffinity;
use assay_units::CpuSet;

/// The group of the observer, inside the run's own, which no group of a study can be named like.
const OBSERVER: &str = "assay-observer";

/// The seat of a repeat whose groups may use these CPUs.
pub(crate) fn seat(
    root: &Root,
    tree: &Tree,
    cpus: &BTreeMap<String, Available<String>>,
) -> SamplerAffinity {
    let allowed = affinity::of(std::process::id()).map_err(|error| error.to_string());
    let group = tree.make_on_v1(OBSERVER, &["cpu", "cpuacct"]).map_err(|error| error.to_string());
    let group = group.and_then(|directories| match directories.is_empty() {
        true => Err("no hierarchy of cgroup v1 that serves cpu or cpuacct is in use; cgroup v2 \
                     keeps the threads of a process together"
            .to_owned()),
        false => Ok(directories),
    });
    SamplerAffinity {
        root: root.clone(),
        cpu: allowed.and_then(|allowed| free(&allowed, cpus)),
        group,
    }
}

/// The last CPU that is nobody's. A group without a list may use all of them.
fn free(allowed: &[u16], cpus: &BTreeMap<String, Available<String>>) -> Result<u16, String> {
    if cpus.is_empty() {
        return Err("no group is bound to CPUs, so that all of them are measured".to_owned());
    }
    let mut taken = BTreeSet::new();
    for (group, cpus) in cpus {
        let Available::Value(text) = cpus else {
            return Err(format!("it is not known which CPUs the group `{group}` may use"));
        };
        taken.extend(text.parse::<CpuSet>().unwrap_or_default().iter());
    }
    let free = allowed.iter().rev().find(|cpu| !taken.contains(cpu));
    free.copied().ok_or_else(|| "every CPU belongs to a group that is measured".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(groups: &[(&str, &str)]) -> BTreeMap<String, Available<String>> {
        let entry = |(name, text): &(&str, &str)| {
            ((*name).to_owned(), Available::Value((*text).to_owned()))
        };
        groups.iter().map(entry).collect()
    }

    #[test]
    fn the_observer_gets_a_cpu_that_no_group_has_or_the_reason() {
        let groups = cpus(&[("a", "0-1"), ("b", "3")]);
        assert_eq!(free(&[0, 1, 2, 3], &groups), Ok(2));
        assert_eq!(free(&[0, 1, 2, 3, 4, 5], &groups), Ok(5));
        assert!(free(&[0, 1, 3], &groups).unwrap_err().contains("every CPU"));
        assert!(free(&[0], &BTreeMap::new()).unwrap_err().contains("no group"));
        let unknown =
            BTreeMap::from([("a".to_owned(), Available::NotAvailable("no file".to_owned()))]);
        assert!(free(&[0, 1], &unknown).unwrap_err().contains("`a`"));
    }
}
