//! What a weight is worth of the machine: the product of a group's parts of each level.
//!
//! This is the floor, with everything that competes with it busy on the same CPUs. Threads that stand
//! beside groups compete one by one, each like a group of weight 100 with one thread. Those of the top are left out: most
//! are kernel threads that hardly run. A group's weight counts as often as the mode of the kernel says, with all its threads
//! runnable.

use std::collections::HashSet;

use assay_host::facts::owner::Owner;
use assay_host::knob::WeightMode;
use serde::Serialize;

use crate::finding::Reading;
use crate::host::Host;
use crate::owner;
use crate::tree::{Node, Tree, cpu_count};

/// What a group's weight of CPU is worth when all others want CPU too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Worth {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// Its file of weights with the text.
    pub reading: Reading,
    /// How many times the weight counts; absent with `smp`, where each counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
    /// Its part of what its level gets, from 0 to 1.
    pub of_level: f64,
    /// Its part of the machine.
    pub of_machine: f64,
    /// Whether the groups above the mount are unknown, so that the machine is only the container's part.
    pub inside_container: bool,
}

impl Worth {
    /// The weight, with how many times it counts where that is not once: `2500 x 8`.
    #[must_use]
    pub fn weight(&self) -> String {
        let times = self.times.map(|times| format!(" x {times:.0}")).unwrap_or_default();
        self.reading.value.clone() + &times
    }
}

/// Shares of a task of nice 0, and of a group with the default weight.
const DEFAULT_SHARES: f64 = 1024.0;

/// Shares of a group with `cpu.idle` = 1 (WEIGHT_IDLEPRIO).
const IDLE_SHARES: f64 = 3.0;

impl Node<'_> {
    /// Its shares of CPU, in the scheduler's unit; `None` for a group without a weight.
    pub(crate) fn cpu_shares(self) -> Option<f64> {
        if self.text("cpu.idle") == Some("1") {
            return Some(IDLE_SHARES);
        }
        match self.number("cpu.weight") {
            Some(weight) => Some(weight as f64 * DEFAULT_SHARES / 100.0),
            None => self.number("cpu.shares").map(|shares| shares as f64),
        }
    }

    /// The file of its weight of CPU.
    pub(crate) fn weight_file(self) -> &'static str {
        if self.text("cpu.weight").is_some() { "cpu.weight" } else { "cpu.shares" }
    }

    /// Whether its weight of CPU differs from that of a new group.
    pub(crate) fn has_weight_set(self) -> bool {
        self.is_set(self.weight_file())
    }
}

/// By which law this host divides weights of CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Law {
    /// The mode.
    pub(crate) mode: WeightMode,
    /// Whether it was read; otherwise it is what kernels of this release do.
    pub(crate) is_known: bool,
    cpus: f64,
}

impl Law {
    pub(crate) fn of(host: &Host) -> Self {
        let machine = &host.snapshot.machine;
        let release = machine.kernel.value().map_or("", String::as_str);
        let (mode, is_known) = WeightMode::of_host(machine.weight_mode.as_ref(), release);
        let cpus = machine.cpus.value().and_then(|list| cpu_count(list));
        Self { mode, is_known, cpus: cpus.unwrap_or(1) as f64 }
    }

    /// How many times a group's weight counts with all its threads runnable. A cpuset counts for the groups below it too.
    pub(crate) fn times(&self, node: Node) -> f64 {
        let own = |one: Node| cpu_count(one.text("cpuset.cpus.effective")?);
        let cpus = node.with_ancestors().find_map(own);
        let cpus = cpus.map_or(self.cpus, |cpus| self.cpus.min(cpus as f64));
        self.mode.factor(node.threads_below().unwrap_or(1) as f64, cpus)
    }

    /// What a group weighs beside its siblings, in the scheduler's unit; `None` for a group without a weight.
    pub(crate) fn weight(&self, node: Node) -> Option<f64> {
        Some(node.cpu_shares()? * self.times(node))
    }

    /// All that competes below a parent: populated groups, and its own threads.
    pub(crate) fn competitors(&self, parent: Node) -> f64 {
        let below = parent.children().filter(|child| child.is_populated());
        let groups: f64 =
            below.map(|child| self.weight(child).unwrap_or_else(|| tasks(child))).sum();
        groups + if parent.is_top() { 0.0 } else { own_tasks(parent) }
    }
}

fn own_tasks(node: Node) -> f64 {
    node.threads().unwrap_or(0) as f64 * DEFAULT_SHARES
}

/// A group without the controller dissolves: its threads compete where the controller is.
fn tasks(node: Node) -> f64 {
    node.threads_below().unwrap_or(0) as f64 * DEFAULT_SHARES
}

/// A group's part of its level and of the machine.
#[derive(Clone, Copy)]
struct Part {
    of_level: f64,
    of_machine: f64,
}

/// The part of each populated group that has a weight, by its place in the tree.
fn parts(law: &Law, tree: &Tree) -> Vec<Option<Part>> {
    let mut parts: Vec<Option<Part>> = vec![None; tree.hierarchy.groups.len()];
    for node in tree.nodes() {
        if node.is_top() {
            parts[node.index()] = Some(Part { of_level: 1.0, of_machine: 1.0 });
        }
        let Some(above) = parts[node.index()] else { continue };
        let all = law.competitors(node);
        for child in node.children().filter(|child| child.is_populated()) {
            let own = law.weight(child).filter(|_| all > 0.0).map(|own| own / all);
            parts[child.index()] =
                own.map(|of_level| Part { of_level, of_machine: above.of_machine * of_level });
        }
    }
    parts
}

/// Each group's part of the machine.
pub(crate) fn of_machine<'t>(
    host: &Host,
    tree: &'t Tree<'t>,
) -> impl Iterator<Item = (Node<'t>, Option<f64>)> {
    let parts = parts(&Law::of(host), tree);
    let all = tree.nodes().zip(parts).filter(|(node, _)| !node.is_top());
    all.map(|(node, part)| (node, part.map(|part| part.of_machine)))
}

/// The groups below the top, and those of which one beside them or itself has a weight that is set, with what they are worth:
/// a level adds up to all of it.
pub(crate) fn table(host: &Host) -> Vec<Worth> {
    let Some(tree) = host.tree_of("cpu") else { return Vec::new() };
    let law = Law::of(host);
    let parts = parts(&law, tree);
    let set = tree.nodes().filter(|node| node.has_weight_set());
    let divided: HashSet<usize> = set.filter_map(|node| Some(node.parent()?.index())).collect();
    let is_shown = |node: &Node| {
        node.parent().is_some_and(|above| above.is_top() || divided.contains(&above.index()))
    };
    let nodes = tree.nodes().filter(is_shown);
    nodes
        .filter_map(|node| {
            let part = parts[node.index()]?;
            Some(Worth {
                group: node.path().to_owned(),
                owner: owner::named(host.snapshot, node.path()),
                reading: node.reading(node.weight_file()),
                times: (law.mode != WeightMode::Smp).then(|| law.times(node)),
                of_level: part.of_level,
                of_machine: part.of_machine,
                inside_container: !tree.hierarchy.is_whole,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use assay_host::facts::Available;

    use super::*;
    use crate::fake::Fake;

    fn worth(fake: Fake) -> Vec<(String, f64)> {
        let snapshot = fake.snapshot();
        table(&Host::new(&snapshot))
            .into_iter()
            .map(|row| (row.group, (row.of_machine * 1e4).round() / 1e4))
            .collect()
    }

    #[test]
    fn a_group_with_the_default_weight_is_shown_beside_one_whose_weight_is_set() {
        let rows = |weight: &str| {
            let top = Fake::v2().group_of("/a", 0, &[("cpu.weight", "100")]);
            let set = top.group("/a/set", &[("cpu.weight", weight)]);
            worth(set.group("/a/default", &[("cpu.weight", "100")]))
        };
        let row = |name: &str, part: f64| (name.to_owned(), part);
        assert_eq!(rows("300"), [row("/a", 1.0), row("/a/set", 0.75), row("/a/default", 0.25)]);
        assert_eq!(rows("100"), [row("/a", 1.0)], "nothing is set");
    }

    /// kubelet's kubepods at 2500 beside system.slice, on eight CPUs.
    #[test]
    fn a_weight_counts_as_often_as_the_mode_says() {
        let rows = |mode: &str| {
            let pods =
                Fake::v2().weight_mode(mode).group_of("/kubepods", 300, &[("cpu.weight", "2500")]);
            worth(pods.group_of("/system.slice", 2, &[("cpu.weight", "100")]))[1].1
        };
        assert_eq!(rows("smp"), 0.0385);
        // 8 x 2500 to 1 x 100.
        assert_eq!(rows("concur"), 0.005);
        let whole = Fake::v2().weight_mode("concur").snapshot();
        assert!(Law::of(&Host::new(&whole)).is_known);
    }

    #[test]
    fn a_mode_that_was_not_read_is_that_of_the_release() {
        let law = |kernel: &str| {
            let fake = Fake::v2().change(|host| {
                host.machine.kernel = Available::Value(kernel.to_owned());
                host.machine.weight_mode = Some(Available::NotAvailable("no debugfs".to_owned()));
            });
            let snapshot = fake.snapshot();
            let law = Law::of(&Host::new(&snapshot));
            (law.mode, law.is_known)
        };
        assert_eq!(law("7.3.4+deb13-amd64"), (WeightMode::Concur, false));
        assert_eq!(law("7.2.13+deb14-amd64"), (WeightMode::Smp, false));
    }

    #[test]
    fn a_cpuset_bounds_how_often_a_weight_counts() {
        let times = |cpus: &str| {
            let snapshot = Fake::v2()
                .weight_mode("concur")
                .group_of("/g", 300, &[("cpu.weight", "200"), ("cpuset.cpus.effective", cpus)])
                .snapshot();
            table(&Host::new(&snapshot))[0].times
        };
        assert_eq!([times("0-3"), times("0")], [Some(4.0), Some(1.0)]);
    }

    #[test]
    fn nested_weights_are_multiplied_and_empty_groups_do_not_compete() {
        let rows = worth(
            Fake::v2()
                .group_of("/kubepods.slice", 0, &[("cpu.weight", "157")])
                .group("/kubepods.slice/a", &[("cpu.weight", "39")])
                .group("/kubepods.slice/b", &[("cpu.weight", "117")])
                .group("/system.slice", &[("cpu.weight", "100")])
                .group_of("/user.slice", 0, &[("cpu.weight", "100")]),
        );
        let expected = [
            ("/kubepods.slice", 0.6109),
            ("/kubepods.slice/a", 0.1527),
            ("/kubepods.slice/b", 0.4582),
            ("/system.slice", 0.3891),
        ];
        assert_eq!(rows, expected.map(|(path, part)| (path.to_owned(), part)));
    }

    #[test]
    fn threads_beside_groups_compete_one_by_one() {
        let rows = worth(
            Fake::v2()
                .group_of("/p", 3, &[("cpu.weight", "100")])
                .group("/p/g", &[("cpu.weight", "200")]),
        );
        assert_eq!(rows[1], ("/p/g".to_owned(), 0.4));
    }

    #[test]
    fn an_idle_group_weighs_three_shares() {
        let rows = worth(
            Fake::v2()
                .group("/a", &[("cpu.weight", "1"), ("cpu.idle", "1")])
                .group("/b", &[("cpu.weight", "100")]),
        );
        assert_eq!(rows[0].1, 0.0029);
    }
}
