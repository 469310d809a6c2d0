//! Chooses the CPU and cgroup of the sampling thread of a repeat, kept apart from measured groups.

use std::collections::{BTreeMap, BTreeSet};

use assay_host::cgroup::Tree;
use assay_host::facts::Available;
use assay_record::sample::SamplerAffinity;
use assay_sys::kernel::{Root, affinity};
use assay_sys::units::CpuSet;

/// The group of the sampling thread inside the run's own; study groups cannot have this name.
const OBSERVER: &str = "assay-observer";

/// The affinity for a repeat whose groups may use these CPUs.
pub(crate) fn choose_sampler_affinity(
    root: &Root,
    tree: &Tree,
    cpus: &BTreeMap<String, Available<String>>,
) -> SamplerAffinity {
    let allowed = affinity::allowed_cpus(std::process::id()).map_err(|error| error.to_string());
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

/// The last CPU that no group may use. A group without a list may use all of them.
fn free(allowed: &[u16], cpus: &BTreeMap<String, Available<String>>) -> Result<u16, String> {
    if cpus.is_empty() {
        return Err("no group is bound to CPUs, so all of them are measured".to_owned());
    }
    let mut used = BTreeSet::new();
    for (group, cpus) in cpus {
        let Available::Value(text) = cpus else {
            return Err(format!("the CPUs of the group `{group}` are unknown"));
        };
        used.extend(text.parse::<CpuSet>().unwrap_or_default().iter());
    }
    let free = allowed.iter().rev().find(|cpu| !used.contains(cpu));
    free.copied().ok_or_else(|| "every CPU belongs to a measured group".to_owned())
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
    fn the_sampler_gets_a_cpu_outside_of_all_groups_or_a_reason() {
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
