//! Sets of CPUs that are not what they say.

use crate::finding::Class;
use crate::finding::Reading;
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::tree::{Node, cpu_ranges as ranges};

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-CPUSET-EMPTY",
        class: Class::NoEffect,
        condition: "`cpuset.cpus` is set, and has no CPU in common with `cpuset.cpus.effective` of the group above, nor with its own, \
                    as that of a valid partition has",
        versions: "v2",
        meaning: "a set that would be empty is ignored: the group runs where the group above does",
        remedy: "name CPUs that the group above has",
        source: "cgroup-v2.rst, \"cpuset.cpus\"; kernel/cgroup/cpuset.c",
        find: Find::Each(Scope::V2Of("cpuset"), empty),
    },
    Rule {
        code: "A-PARTITION-INVALID",
        class: Class::NoEffect,
        condition: "`cpuset.cpus.partition` contains `invalid`",
        versions: "v2, Linux 5.0",
        meaning: "its CPUs are not its own: others may run on them",
        remedy: "mend what the reason in parentheses names",
        source: "cgroup-v2.rst, \"cpuset.cpus.partition\"; kernel/cgroup/cpuset.c (perr_strings)",
        find: Find::Each(Scope::V2Of("cpuset"), invalid),
    },
    Rule {
        code: "A-ISOLATED",
        class: Class::Weakened,
        condition: "a group with two threads or more may run only on CPUs of which two or more are isolated \
                    (`/sys/devices/system/cpu/isolated`), or are in an isolated partition above; on v1 also where `cpuset.sched_load_balance` is 0 up to \
                    the root",
        versions: "all",
        meaning: "among these CPUs the kernel balances no load: threads stay where they began, often all on one CPU",
        remedy: "bind each thread to a CPU of its own (taskset), or give the group CPUs that are not isolated",
        source: "kernel-parameters.txt, \"isolcpus\"; cgroup-v2.rst, \"cpuset.cpus.partition\"; cgroup-v1/cpusets.rst, 1.7; moby#31086",
        find: Find::Each(Scope::Of("cpuset"), isolated),
    },
];

fn isolated(host: &Host, node: Node) -> Option<Found> {
    const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
    const PARTITION: &str = "cpuset.cpus.partition";
    const BALANCE: &str = "cpuset.sched_load_balance";
    let own = node.text("cpuset.cpus").filter(|list| !list.is_empty() && !node.is_root())?;
    let is_own = node.parent().is_none_or(|above| above.text("cpuset.cpus") != Some(own));
    let is_partition = |node: &Node| node.text(PARTITION) == Some("isolated");
    if !is_own || node.threads_below().is_some_and(|all| all < 2) || is_partition(&node) {
        return None;
    }
    let mut own: Vec<u64> =
        ranges(own)?.into_iter().flat_map(|(first, last)| first..=last.min(first + 8191)).collect();
    own.truncate(8192);
    let unbalanced = || {
        node.text(BALANCE) == Some("0")
            && std::iter::successors(node.parent(), |node| node.parent())
                .all(|above| above.text(BALANCE) == Some("0"))
    };
    let reading = if let Some(above) = node.ancestors().find(is_partition) {
        above.reading(PARTITION)
    } else if unbalanced() {
        node.reading(BALANCE)
    } else {
        let text = host.file(ISOLATED)?;
        let isolated = ranges(text)?;
        own.retain(|cpu| isolated.iter().any(|(first, last)| (first..=last).contains(&cpu)));
        Reading::new(ISOLATED, text)
    };
    let sentence = format!(
        "{} of its CPUs are isolated: its threads stay on the CPUs where they began",
        own.len()
    );
    (own.len() >= 2).then(|| Found::new(node, &["cpuset.cpus"], sentence).and(reading))
}

fn empty(_: &Host, node: Node) -> Option<Found> {
    const EFFECTIVE: &str = "cpuset.cpus.effective";
    let above = node.parent()?;
    let (own, there) = (node.text("cpuset.cpus")?, above.text(EFFECTIVE)?);
    let (asked, mut available) = (ranges(own)?, ranges(there)?);
    // The kernel takes the CPUs of a valid partition away from the group above, and the partition has them.
    available.extend(node.text(EFFECTIVE).and_then(ranges).unwrap_or_default());
    let meets =
        |one: &(u64, u64)| available.iter().any(|other| one.0 <= other.1 && other.0 <= one.1);
    let sentence = format!(
        "cpuset.cpus {own} has no CPU in common with {} ({there}): it runs on all of those",
        above.path()
    );
    (node.is_set("cpuset.cpus") && !asked.iter().any(meets))
        .then(|| Found::new(node, &["cpuset.cpus"], sentence).and(above.reading(EFFECTIVE)))
}

fn invalid(_: &Host, node: Node) -> Option<Found> {
    const FILE: &str = "cpuset.cpus.partition";
    let reason = node.text(FILE)?.split_once("invalid")?.1.trim().trim_matches(['(', ')']);
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let sentence = format!("its partition is invalid{because}; its CPUs are not its own");
    Some(Found::new(node, &[FILE], sentence))
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    #[test]
    fn a_set_outside_of_that_above_is_ignored() {
        let host = |cpus: &str| {
            Fake::v2()
                .group("/p", &[("cpuset.cpus.effective", "0-7")])
                .group("/p/g", &[("cpuset.cpus", cpus)])
        };
        let sentence = host("8-15").only("A-CPUSET-EMPTY").sentence;
        assert!(sentence.starts_with("cpuset.cpus 8-15 has no CPU in common with /p (0-7)"));
        host("7-15").silent("A-CPUSET-EMPTY");
        host("").silent("A-CPUSET-EMPTY");
    }

    #[test]
    fn an_invalid_partition_is_named_with_its_reason() {
        let host = |text: &str| Fake::v2().group("/g", &[("cpuset.cpus.partition", text)]);
        let found =
            host("root invalid (Parent is not a partition root)").only("A-PARTITION-INVALID");
        assert!(found.sentence.contains(": Parent is not a partition root;"), "{found:?}");
        host("root").silent("A-PARTITION-INVALID");
    }

    /// moby/moby#31086.
    #[test]
    fn among_isolated_cpus_no_load_is_balanced() {
        let host = |isolated: &str, cpus: &str, threads: u64| {
            let host = Fake::v2().host_file("/sys/devices/system/cpu/isolated", isolated);
            host.group_of("/a.scope", threads, &[("cpuset.cpus", cpus)])
        };
        let sentence = host("4-7", "3-7", 4).only("A-ISOLATED").sentence;
        assert!(sentence.starts_with("4 of its CPUs are isolated"));
        host("", "4-7", 4).silent("A-ISOLATED");
        host("7", "4-7", 4).silent("A-ISOLATED");
        host("4-7", "0-4", 4).silent("A-ISOLATED");
        host("4-7", "4-7", 1).silent("A-ISOLATED");
        let partition = |of: &str, own: &str| {
            let above = [("cpuset.cpus", "4-7"), ("cpuset.cpus.partition", of)];
            Fake::v2().group_of("/p", 0, &above).group_of("/p/g", 2, &[("cpuset.cpus", own)])
        };
        assert_eq!(partition("isolated", "4-5").only("A-ISOLATED").group, "/p/g");
        partition("root", "4-5").silent("A-ISOLATED");
        partition("isolated", "").silent("A-ISOLATED");
        let v1 = |top: &str| {
            let files = [("cpuset.cpus", "4-7"), ("cpuset.sched_load_balance", "0")];
            Fake::v1("cpuset").top("cpuset.sched_load_balance", top).group_of("/g", 2, &files)
        };
        v1("0").only("A-ISOLATED");
        v1("1").silent("A-ISOLATED");
    }

    /// The kernel takes the CPUs of a valid partition out of the set of the group above.
    #[test]
    fn a_valid_partition_has_its_cpus() {
        Fake::v2()
            .top("cpuset.cpus.effective", "0-3")
            .group(
                "/rt.slice",
                &[
                    ("cpuset.cpus", "4-7"),
                    ("cpuset.cpus.effective", "4-7"),
                    ("cpuset.cpus.partition", "isolated"),
                ],
            )
            .silent("A-CPUSET-EMPTY");
    }
}
