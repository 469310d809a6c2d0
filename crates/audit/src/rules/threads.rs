//! Threads that weights and quotas of CPU do not reach, or not as groups.

use assay_host::knob::WeightMode;

use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::tree::Node;
use crate::worth::Law;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-ROOT-TASKS",
        class: Class::Weakened,
        condition: "processes that are no kernel threads are in the top itself, where autogroup is off, or threads are in a \
                    group itself, and a busy group beside them has a weight of CPU",
        versions: "all; below the top v1 and threaded groups only",
        meaning: "threads beside groups compete one by one: at nice 0 each is worth as much as a whole group of weight 100; since \
                  Linux 7.3 (`cgroup_mode` concur) as much as such a group with one runnable thread",
        remedy: "move them into a group of their own",
        source: "cgroup-v2.rst, \"No Internal Process Constraint\"; kernel/sched/fair.c",
        find: Find::Host(beside_groups),
    },
    Rule {
        code: "A-AUTOGROUP",
        class: Class::MeansElse,
        condition: "processes that are no kernel threads are in the top itself, `sched_autogroup_enabled` is 1, and a busy \
                    group beside them has a weight of CPU",
        versions: "all, with CONFIG_SCHED_AUTOGROUP",
        meaning: "the kernel makes a group of weight 100 of each session that is in no group; nice divides only within it",
        remedy: "move them into a group of their own, or sysctl kernel.sched_autogroup_enabled=0",
        source: "kernel/sched/autogroup.c (task_wants_autogroup); sched(7)",
        find: Find::Host(autogroup),
    },
    Rule {
        code: "A-REALTIME",
        class: Class::Weakened,
        condition: "a group, or one above it, has a weight or quota of CPU, and some of its threads have the policy FIFO, \
                    RR or DEADLINE",
        versions: "all",
        meaning: "real-time threads come before all others, whatever the weight, and quotas do not count them",
        remedy: "chrt --other --pid 0 THREAD",
        source: "kernel/sched/rt.c; kernel/sched/deadline.c (fair_server, 6.12) and sched_rt_runtime_us leave others 5 %; sched(7)",
        find: Find::Each(Scope::Of("cpu"), real_time),
    },
    Rule {
        code: "A-THREADED",
        class: Class::NoEffect,
        condition: "`cgroup.type` is `domain invalid`, and the group has settings",
        versions: "v2, Linux 4.14",
        meaning: "beside or below threaded groups only threaded ones can hold anything",
        remedy: "echo threaded > cgroup.type, or move the group out of the threaded domain",
        source: "cgroup-v2.rst, \"Threads\"",
        find: Find::Each(Scope::V2, invalid),
    },
];

/// Weights and quotas of CPU time, none of which binds real-time threads.
pub const CPU_TIME: [&str; 4] = ["cpu.weight", "cpu.shares", "cpu.max", "cpu.cfs_quota_us"];

const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// The top with what is in it, if a group beside has a weight that this concerns.
fn loose<'h>(host: &'h Host) -> Option<(Node<'h>, u64, Reading)> {
    let tree = host.tree_of("cpu").filter(|tree| tree.hierarchy.is_whole)?;
    let number = *tree.hierarchy.loose.as_ref()?.value()?;
    let top = tree.top().filter(|top| number > 0 && has_weights_below(*top))?;
    let file = tree.hierarchy.mount.join("cgroup.procs").display().to_string();
    let reading = Reading::new(file, format!("{number} processes besides kernel threads"));
    Some((top, number, reading))
}

fn has_weights_below(node: Node) -> bool {
    node.children().any(|child| child.has_weight_set() && child.has_threads())
}

fn beside_groups(host: &Host) -> Vec<Found> {
    let mut found = Vec::new();
    if let Some((top, number, reading)) = loose(host).filter(|_| host.file(AUTOGROUP) != Some("1"))
    {
        let sentence = format!(
            "{} in no group: each thread, at nice 0, competes with the groups like {}",
            are(number, "process", "processes"),
            a_thread_is_like(host)
        );
        found.push(Found::new(top, &[], sentence).and(reading));
    }
    let inner = host.groups(Scope::Of("cpu")).filter(|node| !node.is_top());
    found.extend(inner.filter_map(|node| in_the_group_itself(host, node)));
    found
}

fn in_the_group_itself(host: &Host, node: Node) -> Option<Found> {
    let own = node.threads().filter(|own| *own > 0 && has_weights_below(node))?;
    let sentence = format!(
        "{} in the group itself: each, at nice 0, competes with the groups below like {}",
        are(own, "thread", "threads"),
        a_thread_is_like(host)
    );
    let below = node.children().filter(|child| child.has_weight_set());
    let readings = below.take(1).map(|child| child.reading(child.weight_file()));
    let list = Reading::new(node.thread_list(), format!("{own} lines"));
    Some(Found::new(node, &[], sentence).and(list).and_all(readings))
}

/// What a thread of nice 0 weighs, whose load counts once whatever the mode, as a group.
fn a_thread_is_like(host: &Host) -> String {
    let limit = match Law::of(host).mode {
        WeightMode::Smp => "",
        WeightMode::Max => " that may use one CPU",
        _ => " with one runnable thread",
    };
    format!("{}{limit}", one_as_new(host))
}

/// A group with the weight of a new one.
fn one_as_new(host: &Host) -> &'static str {
    match host.v1_of("cpu") {
        Some(_) => "one of 1024 shares",
        None => "one of weight 100",
    }
}

fn are(number: u64, one: &str, several: &str) -> String {
    if number == 1 { format!("1 {one} is") } else { format!("{number} {several} are") }
}

fn autogroup(host: &Host) -> Vec<Found> {
    let Some((top, number, reading)) = loose(host).filter(|_| host.file(AUTOGROUP) == Some("1"))
    else {
        return Vec::new();
    };
    let sentence = format!(
        "{} in no group: each session of theirs competes with the groups like {}, and nice divides only within a \
         session",
        are(number, "process", "processes"),
        one_as_new(host)
    );
    vec![Found::new(top, &[], sentence).and(reading).and(Reading::new(AUTOGROUP, "1"))]
}

fn real_time(_: &Host, node: Node) -> Option<Found> {
    let number = *node.group().real_time.as_ref()?.value()?;
    let set = |one: Node| Some(one.reading(one.first_set(&CPU_TIME)?));
    let setting = node.with_ancestors().find_map(set)?;
    let sentence = format!(
        "{} real-time: no weight and no quota binds them",
        are(number, "thread", "threads")
    );
    let counted = format!("{number} threads of policy FIFO, RR or DEADLINE");
    let counted = Reading::new(node.thread_list(), counted);
    (number > 0).then(|| Found::new(node, &[], sentence).and(setting).and(counted))
}

fn invalid(_: &Host, node: Node) -> Option<Found> {
    let file = (node.text("cgroup.type")? == "domain invalid")
        .then(|| node.settings().next())
        .flatten()?;
    let sentence = format!(
        "{file} acts on nothing: the group can hold no process, since it is in a threaded domain and \
         is not threaded itself"
    );
    Some(Found::new(node, &[file, "cgroup.type"], sentence))
}

#[cfg(test)]
mod tests {
    use assay_host::facts::Available;

    use super::*;
    use crate::fake::Fake;

    fn with_loose(number: u64, weight: &str, autogroup: &str) -> Fake {
        Fake::v2()
            .host_file(AUTOGROUP, autogroup)
            .group("/g", &[("cpu.weight", weight)])
            .change(|host| host.hierarchies[0].loose = Some(Available::Value(number)))
    }

    #[test]
    fn processes_outside_of_groups_compete_one_by_one() {
        let found = with_loose(17, "400", "0").only("A-ROOT-TASKS");
        assert!(
            found.sentence.starts_with("17 processes are in no group: each thread"),
            "{found:?}"
        );
        assert_eq!((found.group.as_str(), found.readings.len()), ("/", 1));
        let found = with_loose(17, "400", "0").weight_mode("concur").only("A-ROOT-TASKS");
        assert!(found.sentence.ends_with("weight 100 with one runnable thread"), "{found:?}");
        with_loose(0, "400", "0").silent("A-ROOT-TASKS");
        with_loose(17, "100", "0").silent("A-ROOT-TASKS");
        with_loose(17, "400", "1").silent("A-ROOT-TASKS");
        let inside = with_loose(17, "400", "0").change(|host| host.hierarchies[0].is_whole = false);
        inside.silent("A-ROOT-TASKS");
    }

    #[test]
    fn threads_beside_groups_compete_one_by_one() {
        let host = |own: u64, below: u64, weight: &str| {
            Fake::v1("cpu").group_of("/p", own, &[("cpu.shares", "1024")]).group_of(
                "/p/g",
                below,
                &[("cpu.shares", weight)],
            )
        };
        let found = host(3, 1, "2048").only("A-ROOT-TASKS");
        assert!(found.sentence.starts_with("3 threads are in the group itself"), "{found:?}");
        assert!(found.sentence.ends_with("like one of 1024 shares"), "{found:?}");
        assert_eq!(found.readings[1].file, "/sys/fs/cgroup/p/g/cpu.shares");
        for silent in [host(0, 1, "2048"), host(3, 0, "2048"), host(3, 1, "1024")] {
            silent.silent("A-ROOT-TASKS");
        }
    }

    #[test]
    fn autogroup_divides_what_is_in_no_group_by_session() {
        let found = with_loose(1, "400", "1").only("A-AUTOGROUP");
        assert!(found.sentence.starts_with("1 process is in no group: each session"), "{found:?}");
        with_loose(1, "400", "0").silent("A-AUTOGROUP");
        with_loose(0, "400", "1").silent("A-AUTOGROUP");
    }

    #[test]
    fn real_time_threads_are_bound_by_no_weight() {
        let host = |above: &str, number: u64| {
            Fake::v2().group("/p", &[("cpu.max", above)]).group("/p/g", &[]).change(|host| {
                host.hierarchies[0].groups[2].real_time = Some(Available::Value(number));
            })
        };
        let found = host("50000 100000", 2).only("A-REALTIME");
        assert_eq!(found.sentence, "2 threads are real-time: no weight and no quota binds them");
        assert_eq!(found.readings[0].file, "/sys/fs/cgroup/p/cpu.max");
        host("50000 100000", 0).silent("A-REALTIME");
        host("max 100000", 2).silent("A-REALTIME");
    }

    #[test]
    fn a_domain_among_threaded_groups_holds_nothing() {
        let host = |kind: &str, weight: &str| {
            Fake::v2().group_of("/g", 0, &[("cgroup.type", kind), ("cpu.weight", weight)])
        };
        let found = host("domain invalid", "400").only("A-THREADED");
        assert!(found.sentence.starts_with("cpu.weight acts on nothing"), "{found:?}");
        host("domain", "400").silent("A-THREADED");
        host("threaded", "400").silent("A-THREADED");
        host("domain invalid", "100").silent("A-THREADED");
    }
}
