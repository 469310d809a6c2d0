//! `memory.min` and `memory.low` among the groups above and beside.

use assay_host::facts::owner::{Owner, owner};
use assay_sys::units::Bytes;

use crate::finding::Class;
use crate::protection::{of_tree, set};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-ANCESTOR",
        class: Class::NoEffect,
        condition: "`memory.min` or `memory.low` is set, and 0 stands in the same file of a group above, \
                    which `memory_recursiveprot` gives no part of its parent's either",
        versions: "v2",
        meaning: "a group is protected at most as much as every group above it",
        remedy: "set the sum of what is below on every group above, as the kubelet does since July 2026",
        source: "mm/page_counter.c (effective_protection); kubernetes#140267",
        find: Find::Host(ancestor),
    },
    Rule {
        code: "A-OVERCOMMIT",
        class: Class::Weakened,
        condition: "siblings together claim more than their parent is protected by: the sum of \
                    min(set, memory.current) is above the parent's effective value",
        versions: "v2",
        meaning: "each gets a part of the parent's protection in proportion to what it claims",
        remedy: "raise the parent's value to the sum, or lower those of the siblings",
        source: "mm/page_counter.c (effective_protection); cgroup-v2.rst, \"memory.low\"",
        find: Find::Host(overcommitted),
    },
    Rule {
        code: "A-CROSSED",
        class: Class::NoEffect,
        condition: "`memory.high` is not below `memory.max`; that they are alike is Slurm's way",
        versions: "v2",
        meaning: "`memory.max` is reached first, and `memory.high` never",
        remedy: "lower memory.high below memory.max",
        source: "cgroup-v2.rst, \"Memory Interface Files\"",
        find: Find::Each(Scope::V2Of("memory"), never_high),
    },
    Rule {
        code: "A-FLOOR-CAPPED",
        class: Class::MeansElse,
        condition: "`memory.min` or `memory.low` is a number above `memory.high` or `memory.max` of the group or of one above",
        versions: "v2",
        meaning: "the group can never use as much: all that it has is protected, and what the number has beyond the limit means nothing",
        remedy: "none needed; `max` says the same without a number",
        source: "mm/page_counter.c (effective_protection: the lesser of use and protection counts)",
        find: Find::Each(Scope::V2Of("memory"), floor_above_limit),
    },
];

const FILES: [&str; 2] = ["memory.min", "memory.low"];

fn ancestor(host: &Host) -> Vec<Found> {
    let Some(tree) = host.v2_of("memory") else { return Vec::new() };
    let mut found = Vec::new();
    for file in FILES {
        let effective = of_tree(tree, file);
        found.extend(tree.nodes().filter_map(|node| cancelled(node, file, &effective)));
    }
    found
}

/// With `memory_recursiveprot` a group whose file says 0 may have a part of what its parent leaves unclaimed.
fn has_none(node: Node, file: &str, effective: &[Option<u64>]) -> bool {
    let is_recursive = node.tree.has_option("memory_recursiveprot");
    set(node, file) == Some(0) && (!is_recursive || effective[node.index()] == Some(0))
}

fn cancelled(node: Node, file: &str, effective: &[Option<u64>]) -> Option<Found> {
    let own = set(node, file).filter(|bytes| *bytes > 0)?;
    let above = node.ancestors().find(|above| has_none(*above, file, effective))?;
    // A group that reclaims for its own limit protects those below it whatever its own file says.
    let up_to = node.ancestors().position(|group| group.index() == above.index())?;
    let limited = node
        .ancestors()
        .take(up_to + 1)
        .find(|group| group.first_set(&["memory.max", "memory.high"]).is_some());
    let except = limited.map_or_else(String::new, |group| {
        format!("; it acts only while {} is at its own limit", group.path())
    });
    let sentence = format!(
        "{file} {} protects nothing against the rest of the machine: {} has 0{except}",
        amount(own),
        above.path()
    );
    Some(Found::new(node, &[file], sentence).and(above.reading(file)))
}

fn overcommitted(host: &Host) -> Vec<Found> {
    let Some(tree) = host.v2_of("memory") else { return Vec::new() };
    let mut found = Vec::new();
    for file in FILES {
        let values = of_tree(tree, file);
        for node in tree.nodes() {
            let effective = values[node.index()];
            found.extend(effective.and_then(|effective| shared(node, file, effective)));
        }
    }
    found
}

fn shared(node: Node, file: &str, effective: u64) -> Option<Found> {
    let own = set(node, file)?;
    let usage = node.number("memory.current")?;
    let parent = node.parent().filter(|parent| !parent.is_top())?;
    // A page less is rounding; nothing at all is another rule's.
    const PAGES: u64 = 8 * 4096;
    if effective == 0 || effective.saturating_add(PAGES) >= own.min(usage) {
        return None;
    }
    let sentence = format!(
        "{file} {} is worth {}: with its siblings it claims more than {} is protected by",
        amount(own),
        amount(effective),
        parent.path()
    );
    let files = [file, "memory.current"];
    Some(Found::new(node, &files, sentence).and(parent.reading(file)))
}

fn never_high(_: &Host, node: Node) -> Option<Found> {
    let (high, max) = (node.limit("memory.high")?, node.limit("memory.max")?);
    let sentence =
        format!("memory.high {} is never reached: memory.max is {}", amount(high), amount(max));
    // Slurm gives a job one number for both, and means the second.
    let is_slurm = || matches!(owner(node.path()), Some(Owner::SlurmJob { .. }));
    (high > max || high == max && !is_slurm())
        .then(|| Found::new(node, &["memory.high", "memory.max"], sentence))
}

/// A limit of the group or of one above that is lower than its protection. `max` is no number: it means the whole group.
fn floor_above_limit(_: &Host, node: Node) -> Option<Found> {
    for file in FILES {
        let Some(own) = node.limit(file) else { continue };
        for group in node.with_ancestors() {
            for limit in ["memory.max", "memory.high"] {
                let Some(at) = group.limit(limit).filter(|at| *at < own) else { continue };
                let sentence = format!(
                    "{file} {} can never be used up: {limit} of {} is {}",
                    amount(own),
                    group.path(),
                    amount(at)
                );
                return Some(Found::new(node, &[file], sentence).and(group.reading(limit)));
            }
        }
    }
    None
}

/// An amount for a sentence: exact if it is whole MiB, else with two digits.
pub(crate) fn amount(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes {
        _ if bytes > u64::MAX / 4 => "max".to_owned(),
        _ if bytes >= MIB && !bytes.is_multiple_of(MIB) => {
            format!("{:.1} MiB", bytes as f64 / MIB as f64)
        }
        _ => Bytes::new(bytes).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    const MIB: u64 = 1 << 20;

    fn of(mib: u64) -> String {
        (mib * MIB).to_string()
    }

    fn pod(above: u64) -> Fake {
        let low = of(512);
        Fake::v2()
            .group("/kubepods.slice", &[("memory.low", &of(above)), ("memory.current", &of(600))])
            .group("/kubepods.slice/pod7", &[("memory.low", &low), ("memory.current", &of(500))])
    }

    #[test]
    fn protection_below_a_group_without_any_is_dead() {
        let found = pod(0).only("A-ANCESTOR");
        assert_eq!(found.group, "/kubepods.slice/pod7");
        assert_eq!(
            found.sentence,
            "memory.low 512 MiB protects nothing against the rest of the machine: /kubepods.slice has 0"
        );
        pod(512).silent("A-ANCESTOR");
    }

    #[test]
    fn it_still_acts_below_a_group_that_reclaims_for_its_own_limit() {
        let limited = Fake::v2()
            .group("/a", &[("memory.low", "0"), ("memory.max", &of(800))])
            .group("/a/b", &[("memory.low", &of(64)), ("memory.current", &of(64))]);
        assert!(limited.only("A-ANCESTOR").sentence.ends_with("while /a is at its own limit"));
    }

    #[test]
    fn with_recursive_protection_a_group_without_any_of_its_own_may_have_a_part() {
        let host = || {
            Fake::v2()
                .group("/p", &[("memory.low", &of(100)), ("memory.current", &of(100))])
                .group("/p/q", &[("memory.low", "0"), ("memory.current", &of(100))])
                .group("/p/q/g", &[("memory.low", &of(50)), ("memory.current", &of(50))])
        };
        assert!(host().only("A-ANCESTOR").sentence.contains("/p/q has 0"));
        host().option("memory_recursiveprot").silent("A-ANCESTOR");
    }

    #[test]
    fn siblings_that_claim_too_much_share() {
        let host = |above: u64| {
            Fake::v2()
                .group("/p", &[("memory.low", &of(above)), ("memory.current", &of(100))])
                .group("/p/a", &[("memory.low", &of(75)), ("memory.current", &of(50))])
                .group("/p/b", &[("memory.low", &of(25)), ("memory.current", &of(50))])
        };
        let codes = host(50).codes();
        let shared: Vec<&str> = codes
            .iter()
            .filter(|(code, _)| *code == "A-OVERCOMMIT")
            .map(|(_, path)| path.as_str())
            .collect();
        assert_eq!(shared, ["/p/a", "/p/b"]);
        host(75).silent("A-OVERCOMMIT");
    }

    #[test]
    fn limits_below_protection_or_beyond_the_hard_limit_are_crossed() {
        let host = |files: &[(&str, &str)]| Fake::v2().group("/g", files);
        let capped = host(&[("memory.low", &of(2)), ("memory.max", &of(1))]).only("A-FLOOR-CAPPED");
        assert!(capped.sentence.contains("memory.low 2 MiB can never be used up"));
        host(&[("memory.low", &of(1)), ("memory.max", &of(2))]).silent("A-FLOOR-CAPPED");
        let high = host(&[("memory.high", &of(2)), ("memory.max", &of(1))]).only("A-CROSSED");
        assert_eq!(high.sentence, "memory.high 2 MiB is never reached: memory.max is 1 MiB");
        host(&[("memory.high", "max"), ("memory.max", &of(1))]).silent("A-CROSSED");
        let alike = [("memory.high", of(1)), ("memory.max", of(1))];
        let alike = alike.each_ref().map(|(file, text)| (*file, text.as_str()));
        host(&alike).only("A-CROSSED");
        let slurm = Fake::v2().group("/slurmstepd.scope", &[]);
        slurm.group("/slurmstepd.scope/job_7", &alike).silent("A-CROSSED");
        let above = Fake::v2()
            .group("/p", &[("memory.max", &of(1))])
            .group("/p/g", &[("memory.min", &of(2))]);
        assert!(above.only("A-FLOOR-CAPPED").sentence.contains("memory.max of /p is 1 MiB"));
    }

    /// The groups above may leave it more than its file says.
    #[test]
    fn in_a_container_recursive_protection_from_above_is_unknown() {
        let host = |top: &str| {
            Fake::v2()
                .option("memory_recursiveprot")
                .top("memory.low", top)
                .top("memory.current", &of(1024))
                .group("/s", &[("memory.low", "0"), ("memory.current", &of(900))])
                .group("/s/u", &[("memory.low", &of(64)), ("memory.current", &of(100))])
                .change(|host| host.hierarchies[0].is_whole = false)
        };
        host(&of(1024)).silent("A-ANCESTOR");
        host("0").silent("A-ANCESTOR");
    }

    #[test]
    fn a_protection_above_a_limit_protects_the_whole_group() {
        let host =
            |low: &str| Fake::v2().group("/g", &[("memory.low", low), ("memory.max", &of(1024))]);
        host("max").silent("A-CROSSED");
        host("max").silent("A-FLOOR-CAPPED");
        host(&of(2048)).silent("A-CROSSED");
    }
}
