//! What holds for a group: the tightest limit of its own, of the groups above it, and of the machine.

use std::collections::BTreeMap;

use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::host::Host;
use crate::owner;
use crate::tree::{Node, Tree, cpu_count};
use crate::worth;

/// What stands in place of a group's path where the machine itself is the limit.
pub(crate) const MACHINE: &str = "machine";

/// The limits that hold for one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effective {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// CPUs that it may use at once, by quotas and sets of CPUs.
    pub cpus: Option<Limit<f64>>,
    /// Bytes of memory at which it is reclaimed and then killed.
    pub memory_max: Option<Limit<u64>>,
    /// Bytes of memory above which it is slowed down.
    pub memory_high: Option<Limit<u64>>,
    /// Processes and threads at which forks are refused.
    pub pids_max: Option<Limit<u64>>,
    /// How many there are in it and below.
    pub pids: Option<u64>,
    /// Its part of the machine's CPUs by weights if everything is busy, from 0 to 1. Absent for a group
    /// that is empty or has no weight.
    pub of_machine: Option<f64>,
}

/// A limit and who sets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit<T> {
    /// The limit.
    pub value: T,
    /// The group that sets it, or `machine`.
    pub from: String,
}

/// Every group of the hierarchies of cpu, cpuset, memory and pids but the root.
pub(crate) fn table(host: &Host) -> Vec<Effective> {
    let mut rows: BTreeMap<&str, Effective> = BTreeMap::new();
    let machine = &host.snapshot.machine;
    let cpus = machine.cpus.value().and_then(|list| cpu_count(list)).map(|number| number as f64);
    for controller in ["cpu", "cpuset"] {
        let Some(tree) = host.tree_of(controller) else { continue };
        for (node, limit) in tightest(tree, cpus.as_ref(), cpus_of) {
            let row = row(&mut rows, host, node);
            row.cpus = lower(row.cpus.take(), limit);
        }
    }
    if let Some(tree) = host.tree_of("memory") {
        for (node, limit) in tightest(tree, machine.memory.value(), most_memory) {
            row(&mut rows, host, node).memory_max = limit;
        }
        for (node, limit) in tightest(tree, None, |node| node.limit("memory.high")) {
            row(&mut rows, host, node).memory_high = limit;
        }
    }
    if let Some(tree) = host.tree_of("pids") {
        for (node, limit) in tightest(tree, None, |node| node.limit("pids.max")) {
            let row = row(&mut rows, host, node);
            (row.pids_max, row.pids) = (limit, node.number("pids.current"));
        }
    }
    for (node, part) in
        host.tree_of("cpu").into_iter().flat_map(|tree| worth::of_machine(host, tree))
    {
        row(&mut rows, host, node).of_machine = part;
    }
    rows.into_values().collect()
}

fn row<'r, 't>(
    rows: &'r mut BTreeMap<&'t str, Effective>,
    host: &Host,
    node: Node<'t>,
) -> &'r mut Effective {
    rows.entry(node.path()).or_insert_with(|| Effective {
        group: node.path().to_owned(),
        owner: owner::named(host.snapshot, node.path()),
        cpus: None,
        memory_max: None,
        memory_high: None,
        pids_max: None,
        pids: None,
        of_machine: None,
    })
}

fn cpus_of(node: Node) -> Option<f64> {
    let allowed = node.allowed_cpus().map(|(number, _)| number as f64);
    node.quota().map(|(_, cpus)| cpus).into_iter().chain(allowed).reduce(f64::min)
}

fn most_memory(node: Node) -> Option<u64> {
    node.limit("memory.max").or_else(|| node.limit("memory.limit_in_bytes"))
}

/// The tightest limit of each group below the root. A group that repeats what holds above it has that from above.
fn tightest<'t, T: PartialOrd + Clone>(
    tree: &'t Tree<'t>,
    machine: Option<&T>,
    own: impl Fn(Node) -> Option<T>,
) -> Vec<(Node<'t>, Option<Limit<T>>)> {
    let mut limits: Vec<Option<Limit<T>>> = Vec::new();
    for node in tree.nodes() {
        let above = match node.parent().filter(|parent| parent.has_hierarchy()) {
            Some(parent) => limits[parent.index()].clone(),
            None => machine.cloned().map(|value| Limit { value, from: MACHINE.to_owned() }),
        };
        let own = own(node).filter(|_| !node.is_root());
        let own = own.map(|value| Limit { value, from: node.path().to_owned() });
        limits.push(lower(above, own));
    }
    tree.nodes().zip(limits).filter(|(node, _)| !node.is_root()).collect()
}

fn lower<T: PartialOrd>(one: Option<Limit<T>>, other: Option<Limit<T>>) -> Option<Limit<T>> {
    match (one, other) {
        (Some(one), Some(other)) if other.value < one.value => Some(other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    fn limits(fake: Fake) -> Vec<Effective> {
        crate::audit(&fake.snapshot()).effective
    }

    fn limit<T>(value: T, from: &str) -> Option<Limit<T>> {
        Some(Limit { value, from: from.to_owned() })
    }

    /// As on v1 up to Linux 5.10, where nobody has switched the hierarchy on.
    #[test]
    fn a_limit_above_does_not_hold_where_memory_has_no_hierarchy() {
        let from = |switch: &str| {
            let above = [("memory.limit_in_bytes", "4096"), ("memory.use_hierarchy", switch)];
            let host = Fake::v1("memory").group("/p", &above).group("/p/g", &[]);
            limits(host).pop().unwrap().memory_max.unwrap().from
        };
        assert_eq!((from("1").as_str(), from("0").as_str()), ("/p", MACHINE));
    }

    #[test]
    fn the_tightest_of_all_levels_holds() {
        let rows = limits(
            Fake::v2()
                .group("/p", &[("cpu.max", "200000 100000"), ("memory.max", "1048576")])
                .group("/p/g", &[("cpu.max", "400000 100000"), ("memory.max", "2097152")])
                .group("/p/h", &[("cpu.max", "50000 100000"), ("memory.high", "4096")]),
        );
        let of = |at: usize| (rows[at].cpus.clone(), rows[at].memory_max.clone());
        assert_eq!(of(0), (limit(2.0, "/p"), limit(1 << 20, "/p")));
        assert_eq!(of(1), (limit(2.0, "/p"), limit(1 << 20, "/p")));
        assert_eq!(of(2), (limit(0.5, "/p/h"), limit(1 << 20, "/p")));
        let high: Vec<_> = rows.iter().map(|row| row.memory_high.clone()).collect();
        assert_eq!(high, [None, None, limit(4096, "/p/h")]);
    }

    /// Limits that users looked for in the file of the group itself.
    #[test]
    fn a_reported_limit_is_named_with_the_group_that_sets_it() {
        let set = |at: &str, limit: Option<Limit<u64>>| {
            limit.map(|one| format!("{at} {} by {}", one.value, one.from)).unwrap_or_default()
        };
        for (source, file, above, own, expected) in [
            ("NVIDIA/enroot#169", "memory.max", "4194304000", "max", "max 4194304000 by /p"),
            ("systemd#31660", "memory.high", "236978176", "max", "high 236978176 by /p"),
            ("lxc/lxcfs#688", "cpu.max", "200000 100000", "max 100000", "cpus 2 by /p"),
            ("hashicorp/nomad#26398", "cpu.max", "max 100000", "max 100000", "cpus 8 by machine"),
        ] {
            let host = Fake::v2().group("/p", &[(file, above)]).group("/p/g", &[(file, own)]);
            let row = limits(host).pop().unwrap();
            let cpus = row.cpus.map(|one| Limit { value: one.value as u64, from: one.from });
            let found = match file {
                "memory.max" => set("max", row.memory_max),
                "memory.high" => set("high", row.memory_high),
                _ => set("cpus", cpus),
            };
            assert_eq!(found, expected, "{source}");
        }
    }

    /// lxc/lxcfs#729.
    #[test]
    fn the_tightest_limit_of_processes_is_named_with_how_many_there_are() {
        let own = [("pids.max", "30"), ("pids.current", "29")];
        let above = [("pids.max", "200"), ("pids.current", "64")];
        let host = Fake::v1("pids").group("/p", &above).group("/p/g", &own);
        let rows = limits(host.group("/p/h", &[("pids.max", "max"), ("pids.current", "5")]));
        let of = |at: usize| (rows[at].pids_max.clone(), rows[at].pids);
        assert_eq!((of(1), of(2)), ((limit(30, "/p/g"), Some(29)), (limit(200, "/p"), Some(5))));
    }

    #[test]
    fn the_machine_and_sets_of_cpus_are_limits_too() {
        let rows = limits(
            Fake::v2()
                .group("/a", &[("cpu.max", "1600000 100000"), ("memory.max", "34359738368")])
                .group("/b", &[("cpu.max", "max 100000"), ("cpuset.cpus.effective", "0-3")])
                .group("/b/c", &[("cpuset.cpus.effective", "0-3")]),
        );
        assert_eq!(rows[0].cpus, limit(8.0, MACHINE));
        assert_eq!(rows[0].memory_max, limit(16 << 30, MACHINE));
        assert_eq!((&rows[1].cpus, &rows[2].cpus), (&limit(4.0, "/b"), &limit(4.0, "/b")));
    }

    #[test]
    fn a_group_of_v1_is_limited_in_each_of_its_hierarchies() {
        let quota = [("cpu.cfs_quota_us", "300000"), ("cpu.cfs_period_us", "100000")];
        let cpuset = Fake::v1("cpuset").group("/g", &[("cpuset.effective_cpus", "0-1")]).snapshot();
        let memory = [("memory.limit_in_bytes", "9223372036854771712")];
        let memory = Fake::v1("memory").group("/m", &memory).snapshot();
        let rows = limits(Fake::v1("cpu").group("/g", &quota).group("/h", &quota).change(|host| {
            host.hierarchies.extend(cpuset.hierarchies);
            host.hierarchies.extend(memory.hierarchies);
        }));
        let cpus: Vec<_> = rows.iter().map(|row| (row.group.as_str(), row.cpus.clone())).collect();
        assert_eq!(cpus, [("/g", limit(2.0, "/g")), ("/h", limit(3.0, "/h")), ("/m", None)]);
        assert_eq!(rows[2].memory_max, limit(16 << 30, MACHINE));
    }

    #[test]
    fn weights_are_worth_the_product_of_all_levels() {
        let rows = limits(
            Fake::v2()
                .group_of("/p", 0, &[("cpu.weight", "100")])
                .group("/p/a", &[("cpu.weight", "300")])
                .group("/p/b", &[("cpu.weight", "100")])
                .group("/q", &[("cpu.weight", "100")])
                .group_of("/empty", 0, &[("cpu.weight", "800")]),
        );
        let parts: Vec<_> = rows.iter().map(|row| (row.group.as_str(), row.of_machine)).collect();
        let expected = [
            ("/empty", None),
            ("/p", Some(0.5)),
            ("/p/a", Some(0.375)),
            ("/p/b", Some(0.125)),
            ("/q", Some(0.5)),
        ];
        assert_eq!(parts, expected);
    }
}
