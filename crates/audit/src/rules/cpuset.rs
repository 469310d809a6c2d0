//! Sets of CPUs that are not what they say.

use crate::finding::Class;
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
];

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
