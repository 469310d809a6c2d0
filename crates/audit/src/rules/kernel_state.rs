//! What the kernel itself has in the way of weights: schedulers by BPF, and a known defect.

use std::rc::Rc;

use crate::finding::{Class, Reading};
use crate::known::REWEIGHT;
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::tree::{Node, cpu_count};

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-SCHED-EXT",
        class: Class::NoEffect,
        condition: "`/sys/kernel/sched_ext/state` is `enabled`, `switch_all` is 1, and the scheduler in `root/ops` is not \
                    known to implement weights of groups",
        versions: "Linux 6.12",
        meaning: "the kernel leaves weights and quotas of groups to the loaded scheduler, and enforces none itself; a scheduler may implement \
                  either: scx_lavd has quotas (`cpu.max`, Linux 6.17) and no weights",
        remedy: "load a scheduler with cgroup_set_weight (scx_flatcg, scx_flash), or none",
        source: "kernel/sched/ext.c (ops.cgroup_set_weight, ops.cgroup_set_bandwidth); sched-ext/scx#3549, #800",
        find: Find::Host(sched_ext),
    },
    Rule {
        code: "A-KERNEL-REWEIGHT",
        class: Class::Risk,
        condition: "`vlag` and `vprot` of the kernel's `sched_entity` share their place, or, where its types do not tell, it is \
                    6.13 to 6.18.44, 6.19 or 7.0; `/proc/kallsyms` has neither `rescale_entity` nor `reweight_eevdf`; and some group with a weight has two threads or more, and may run on two CPUs \
                    or more, at whatever level",
        versions: "Linux 6.13 to 7.0",
        meaning: "a group whose threads wake each other tens of thousands of times a second on two CPUs can leave all others \
                  without any CPU for seconds, whatever the weights",
        remedy: "Linux 6.18.45 or 7.1; until then keep such a group on one CPU (cpuset), or give it a group for each CPU",
        source: "introduced by 6d71a9c61604, reverted by 101f3498b4bd; fcvm#940; docs/findings/wakeup-storm",
        find: Find::Host(reweight),
    },
];

/// Schedulers that divide by weights of groups, as of August 2026. A hint by name, which ages.
const WITH_WEIGHTS: [&str; 5] = ["flatcg", "flash", "forge", "cidland", "qmap"];

fn sched_ext(host: &Host) -> Vec<Found> {
    const STATE: &str = "/sys/kernel/sched_ext/state";
    const ALL: &str = "/sys/kernel/sched_ext/switch_all";
    const NAME: &str = "/sys/kernel/sched_ext/root/ops";
    if host.file(STATE) != Some("enabled") || host.file(ALL) != Some("1") {
        return Vec::new();
    }
    let name = host.file(NAME).unwrap_or("unknown");
    if WITH_WEIGHTS.iter().any(|known| name.contains(known)) {
        return Vec::new();
    }
    let readings: Rc<[Reading]> =
        [STATE, ALL, NAME].map(|file| Reading::new(file, host.file(file).unwrap_or(""))).into();
    // Names of schedulers have at most 128 bytes (SCX_OPS_NAME_LEN), those of a made-up snapshot have more.
    let name: String = name.chars().take(128).collect();
    host.groups(Scope::Of("cpu"))
        .filter_map(|node| {
            let file = node.first_set(&["cpu.weight", "cpu.shares"])?;
            let sentence = format!(
                "{file} is ignored: the loaded scheduler, {name}, takes no weights of groups"
            );
            Some(Found::new(node, &[file], sentence).and_shared(&readings))
        })
        .collect()
}

fn reweight(host: &Host) -> Vec<Found> {
    let machine = &host.snapshot.machine;
    let Some(reading) = REWEIGHT.reading(machine) else { return Vec::new() };
    let release = machine.kernel.value().map_or("", String::as_str);
    let mut nodes = host.groups(Scope::Of("cpu"));
    let Some(top) = nodes.next() else { return Vec::new() };
    let mut able = nodes.filter(|node| !node.is_top() && may_storm(host, *node));
    let Some(first) = able.next() else { return Vec::new() };
    let sentence = format!(
        "on Linux {release} a group whose threads wake each other very often on two CPUs can starve the others whatever the \
         weights; {} groups have threads and CPUs for it, {} is the first",
        able.count() + 1,
        first.path()
    );
    vec![Found::new(top, &[], sentence).and(reading)]
}

/// Whether a group has a weight, which the kernel divides among several CPUs. What is unknown may be.
fn may_storm(host: &Host, node: Node) -> bool {
    let is_many = |number: Option<u64>| number.is_none_or(|number| number >= 2);
    node.cpu_shares().is_some() && is_many(node.threads_below()) && is_many(cpus_of(host, node))
}

/// The CPUs on which a group may run: on v1 by the group of the same path in the hierarchy of cpuset.
fn cpus_of(host: &Host, node: Node) -> Option<u64> {
    let in_cpuset = host.tree_of("cpuset").and_then(|tree| tree.node(node.path()));
    let own = in_cpuset.unwrap_or(node);
    let nearest = own.with_ancestors().find_map(Node::allowed_cpus);
    let online = || cpu_count(host.snapshot.machine.cpus.value()?);
    nearest.map(|(number, _)| number).or_else(online)
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;
    use assay_host::facts::Available;

    #[test]
    fn a_scheduler_without_weights_ignores_them() {
        let host = |state: &str, name: &str| {
            Fake::v2()
                .host_file("/sys/kernel/sched_ext/state", state)
                .host_file("/sys/kernel/sched_ext/switch_all", "1")
                .host_file("/sys/kernel/sched_ext/root/ops", name)
                .group("/g", &[("cpu.weight", "400")])
                .group("/h", &[("cpu.weight", "100")])
        };
        let found = host("enabled", "lavd_1.0.17").only("A-SCHED-EXT");
        assert_eq!(found.group, "/g");
        assert!(found.sentence.contains("lavd_1.0.17, takes no weights"));
        host("enabled", "flatcg").silent("A-SCHED-EXT");
        host("disabled", "lavd").silent("A-SCHED-EXT");
    }

    /// A snapshot from elsewhere may have 20 000 groups, for each of which the name would be repeated.
    #[test]
    fn a_name_longer_than_any_is_cut() {
        let found = Fake::v2()
            .host_file("/sys/kernel/sched_ext/state", "enabled")
            .host_file("/sys/kernel/sched_ext/switch_all", "1")
            .host_file("/sys/kernel/sched_ext/root/ops", &"x".repeat(60_000))
            .group("/g", &[("cpu.weight", "400")])
            .only("A-SCHED-EXT");
        assert!(found.sentence.len() < 300 && found.readings.len() == 4, "{found:?}");
        assert!(found.readings.iter().all(|reading| reading.value.len() < 5000));
    }

    /// A flat group and one below it, so many threads in each, on a kernel; the sets of CPUs of the first.
    fn storm(release: &str, threads: u64, cpus: &str) -> Fake {
        let weight = ("cpu.weight", "100");
        Fake::v2()
            .group_of("/a", threads, &[weight, ("cpuset.cpus.effective", cpus)])
            .group_of("/a/b", 0, &[weight])
            .change(|snapshot| snapshot.machine.kernel = Available::Value(release.to_owned()))
    }

    #[test]
    fn groups_that_may_starve_others_on_such_a_kernel_are_counted_flat_or_nested() {
        let flat = storm("6.18.44", 2, "0-1").only("A-KERNEL-REWEIGHT");
        assert!(flat.sentence.ends_with("1 groups have threads and CPUs for it, /a is the first"));
        let nested = storm("6.18.44", 2, "0-1").group_of("/a/c", 9, &[("cpu.weight", "100")]);
        assert!(nested.only("A-KERNEL-REWEIGHT").sentence.contains("2 groups have"));
        for silent in [
            storm("6.18.45", 2, "0-1"),
            storm("6.12.1", 2, "0-1"),
            storm("6.18.44", 1, "0-1"),
            storm("6.18.44", 2, "1"),
        ] {
            silent.silent("A-KERNEL-REWEIGHT");
        }
    }

    /// As `assay host` has it.
    #[test]
    fn the_types_of_the_kernel_count_more_than_its_number() {
        let host = |release: &str, seen: bool| {
            let signs = [("A-KERNEL-REWEIGHT".to_owned(), seen)];
            storm(release, 2, "0-1").change(|host| host.machine.signs = signs.into())
        };
        host("6.18.44", false).silent("A-KERNEL-REWEIGHT");
        let found = host("6.6.30", true).only("A-KERNEL-REWEIGHT");
        assert!(found.readings.iter().any(|reading| reading.file.ends_with("btf/vmlinux")));
    }

    #[test]
    fn on_v1_the_set_of_cpus_stands_in_another_hierarchy() {
        let host = |cpus: &str| {
            let sets =
                Fake::v1("cpuset").group("/g", &[("cpuset.effective_cpus", cpus)]).snapshot();
            Fake::v1("cpu").group_of("/g", 4, &[("cpu.shares", "1024")]).change(|host| {
                host.machine.kernel = Available::Value("6.18.44".to_owned());
                host.hierarchies.extend(sets.hierarchies);
            })
        };
        host("0-3").only("A-KERNEL-REWEIGHT");
        host("3").silent("A-KERNEL-REWEIGHT");
    }
}
