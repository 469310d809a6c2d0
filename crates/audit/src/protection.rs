//! Effective `memory.min` and `memory.low`, as the kernel computes them when it reclaims (mm/page_counter.c:
//! page_counter_calculate_protection, effective_protection).
//!
//! Here against the rest of the machine: the root of reclaim is the top of the hierarchy.

use assay_host::knob::{Limit, limit};

use crate::host::Host;
use crate::tree::{Node, Tree};

/// A group among its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// What its file says.
    pub set: u64,
    /// What it uses.
    pub usage: u64,
}

/// The parent of some groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// Its own effective value.
    pub effective: u64,
    /// What it uses.
    pub usage: u64,
    /// Whether cgroup2 is mounted with `memory_recursiveprot`.
    pub recursive: bool,
}

/// The effective values of all children of one parent, in the unit of the numbers.
#[must_use]
pub fn effective(parent: Parent, children: &[Child]) -> Vec<u64> {
    let claimed = |child: &Child| child.usage.min(child.set);
    let sum: u64 = children.iter().fold(0, |sum, child| sum.saturating_add(claimed(child)));
    children.iter().map(|child| one(parent, sum, *child, claimed(child))).collect()
}

fn one(parent: Parent, sum: u64, child: Child, claimed: u64) -> u64 {
    if child.usage == 0 {
        return 0;
    }
    if sum > parent.effective {
        return part(claimed, parent.effective, sum);
    }
    let floats =
        parent.recursive && parent.effective > sum && parent.usage > sum && child.usage > claimed;
    if !floats {
        return claimed;
    }
    // What the children leave unclaimed goes to those that use more than they claim.
    claimed.saturating_add(part(parent.effective - sum, child.usage - claimed, parent.usage - sum))
}

/// `one * other / whole` without overflow.
fn part(one: u64, other: u64, whole: u64) -> u64 {
    let product = u128::from(one) * u128::from(other) / u128::from(whole.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// The effective values of a file in every group, in bytes by the group's place in its tree; `None`
/// where a number that it rests on is unknown.
pub(crate) fn of_tree(tree: &Tree, file: &str) -> Vec<Option<u64>> {
    let mut values: Vec<Option<u64>> = vec![None; tree.hierarchy.groups.len()];
    let recursive = tree.has_option("memory_recursiveprot");
    for node in tree.nodes() {
        let children: Vec<Node> = node.children().collect();
        // The top of a container is a group, to which those above may leave more than its file says.
        if node.is_top() && recursive && !node.is_root() {
            continue;
        }
        if node.is_top() {
            // Children of the root of reclaim have what their files say.
            for child in children {
                values[child.index()] = set(child, file);
            }
            continue;
        }
        let Some(effective_above) = values[node.index()] else { continue };
        let Some(usage) = node.number("memory.current") else { continue };
        let parent = Parent { effective: effective_above / PAGE, usage: usage / PAGE, recursive };
        let known: Option<Vec<Child>> = children.iter().map(|child| pages(*child, file)).collect();
        let Some(known) = known else { continue };
        for (child, value) in children.iter().zip(effective(parent, &known)) {
            values[child.index()] = Some(value.saturating_mul(PAGE));
        }
    }
    values
}

/// Groups that are protected, without the top: the file, and the effective value if that can be known, by the present use.
pub(crate) fn protected<'h>(
    host: &'h Host,
) -> impl Iterator<Item = (&'static str, Node<'h>, Option<u64>)> {
    let trees = host.v2_of("memory").into_iter();
    let files = trees.flat_map(|tree| ["memory.min", "memory.low"].map(|file| (tree, file)));
    files.flat_map(|(tree, file)| {
        let values = of_tree(tree, file);
        let is_set = move |node: &Node| set(*node, file).is_some_and(|bytes| bytes > 0);
        tree.nodes().filter(is_set).map(move |node| (file, node, values[node.index()]))
    })
}

/// The kernel computes in pages. Those of 4 KiB are an assumption that rounds by less than any
/// sentence shows.
const PAGE: u64 = 4096;

fn pages(node: Node, file: &str) -> Option<Child> {
    let usage = node.number("memory.current").or_else(|| without_memory(node))?;
    Some(Child { set: set(node, file)? / PAGE, usage: usage / PAGE })
}

/// What a file says, in bytes; `max` is all there is. A group without the memory controller has no
/// protection of its own.
pub(crate) fn set(node: Node, file: &str) -> Option<u64> {
    if node.unreadable(file).is_some() {
        return None;
    }
    match node.text(file) {
        None => Some(0),
        Some(text) => limit(text).map(|limit| match limit {
            Limit::At(bytes) => bytes,
            Limit::None => u64::MAX / 2,
        }),
    }
}

fn without_memory(node: Node) -> Option<u64> {
    node.unreadable("memory.current").is_none().then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    const MIB: u64 = 1 << 20;

    /// Children as (set, usage) in MiB, and effective values in hundredths of a MiB.
    fn check(effective_above: u64, usage: u64, recursive: bool, table: &[(u64, u64, u64)]) {
        let parent = Parent { effective: effective_above * MIB, usage: usage * MIB, recursive };
        let children: Vec<Child> = table
            .iter()
            .map(|(set, usage, _)| Child { set: set * MIB, usage: usage * MIB })
            .collect();
        let values = effective(parent, &children);
        let hundredths: Vec<u64> = values
            .iter()
            .map(|bytes| (*bytes as f64 * 100.0 / MIB as f64).round() as u64)
            .collect();
        let expected: Vec<u64> = table.iter().map(|(.., expected)| *expected).collect();
        assert_eq!(hundredths, expected, "{table:?}");
    }

    /// The tree of the kernel's own test (tools/testing/selftests/cgroup/test_memcontrol.c).
    #[test]
    fn overcommitted_protection_is_divided_by_what_is_claimed() {
        check(50, 150, false, &[(75, 50, 3333), (25, 50, 1667), (0, 50, 0), (500, 0, 0)]);
    }

    #[test]
    fn protection_that_fits_is_whole() {
        check(50, 100, false, &[(20, 50, 2000), (10, 50, 1000)]);
        check(50, 40, false, &[(100, 40, 4000)]);
    }

    #[test]
    fn with_recursive_protection_the_rest_goes_to_those_that_use_more() {
        check(50, 100, true, &[(20, 50, 2857), (10, 50, 2143)]);
        check(50, 100, true, &[(0, 60, 3000), (0, 40, 2000)]);
    }

    #[test]
    fn below_nothing_there_is_nothing() {
        check(0, 64, false, &[(64, 64, 0)]);
        check(0, 64, true, &[(64, 64, 0)]);
    }

    #[test]
    fn a_tree_is_computed_from_the_top_and_stops_at_what_is_unknown() {
        let of = |mib: u64| (mib * MIB).to_string();
        let fake = Fake::v2()
            .group("/b", &[("memory.low", &of(50)), ("memory.current", &of(150))])
            .group("/b/c", &[("memory.low", &of(75)), ("memory.current", &of(50))])
            .group("/b/d", &[("memory.low", &of(25)), ("memory.current", &of(50))])
            .group("/b/e", &[("memory.low", "0"), ("memory.current", &of(50))]);
        let snapshot = fake.snapshot();
        let tree = Tree::new(&snapshot.hierarchies[0]);
        let values = of_tree(&tree, "memory.low");
        let mib: Vec<Option<u64>> = values.iter().map(|value| value.map(|one| one / MIB)).collect();
        assert_eq!(mib, [None, Some(50), Some(33), Some(16), Some(0)]);

        let recursive = Fake::v2()
            .option("memory_recursiveprot")
            .group("/b", &[("memory.low", &of(50)), ("memory.current", &of(100))])
            .group("/b/c", &[("memory.low", "0"), ("memory.current", &of(60))])
            .snapshot();
        let tree = Tree::new(&recursive.hierarchies[0]);
        assert_eq!(of_tree(&tree, "memory.low")[2], Some(30 * MIB));

        let unknown = Fake::v2()
            .group("/b", &[("memory.low", &of(50))])
            .group("/b/c", &[("memory.low", &of(75)), ("memory.current", &of(50))])
            .snapshot();
        let tree = Tree::new(&unknown.hierarchies[0]);
        assert_eq!(of_tree(&tree, "memory.low")[2], None);
    }
}
