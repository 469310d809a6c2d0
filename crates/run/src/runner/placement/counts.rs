//! The host's counters of placement, before and after a repeat.

use std::collections::BTreeMap;

use assay_host::facts::Available;
use assay_record::run_folder::{CounterSpan, NodeCounts};
use assay_study::plan::Trial;
use assay_sys::kernel::Root;
use assay_sys::kernel::counters::keyed;

const NODES: &str = "/sys/devices/system/node";
const MEMORY: &str = "/sys/devices/system/node/has_memory";
/// The counters shown by numastat(8) (Documentation/admin-guide/numastat.rst).
const NUMASTAT: [&str; 6] =
    ["numa_hit", "numa_miss", "numa_foreign", "interleave_hit", "local_node", "other_node"];
const WEIGHTS: &str = "/sys/kernel/mm/mempolicy/weighted_interleave";

/// Counters at one point in time.
pub(crate) struct Counts {
    numastat: BTreeMap<u16, BTreeMap<String, u64>>,
    moved: Available<u64>,
    balancing: Available<String>,
    weights: BTreeMap<u16, u64>,
}

impl Counts {
    /// Reads the counters before workloads are started: if one of them has a placement, or if the machine's
    /// memory is on several nodes.
    pub(crate) fn before(root: &Root, trial: &Trial) -> Option<Self> {
        let nodes: Option<assay_sys::units::NodeSet> =
            root.read_trimmed(MEMORY).ok().and_then(|text| text.parse().ok());
        let several = nodes.is_some_and(|nodes| nodes.len() > 1);
        (several || !trial.placements.is_empty()).then(|| Self::read(root))
    }

    fn read(root: &Root) -> Self {
        let balancing = root.read_trimmed("/proc/sys/kernel/numa_balancing");
        Self {
            numastat: by_node(root, NODES, |path| {
                let text = root.read(format!("{path}/numastat")).ok()?;
                let counts = NUMASTAT
                    .iter()
                    .filter_map(|name| Some(((*name).to_owned(), keyed(text.as_bytes(), name)?)));
                Some(counts.collect())
            }),
            moved: moved(root),
            balancing: match balancing {
                Ok(text) => Available::Value(text),
                Err(error) => Available::NotAvailable(error.to_string()),
            },
            weights: by_node(root, WEIGHTS, |path| root.read_trimmed(path).ok()?.parse().ok()),
        }
    }

    /// The counters at the start and now.
    pub(super) fn until_now(self, root: &Root) -> NodeCounts {
        let now = Self::read(root);
        let numastat = both(&self.numastat, now.numastat);
        let missed = |(node, counts): (&u16, &BTreeMap<String, CounterSpan>)| {
            Some((*node, counts.get("numa_miss")?.since()))
        };
        NodeCounts {
            missed_pages: numastat.iter().filter_map(missed).collect(),
            numastat,
            moved_pages: match (self.moved, now.moved) {
                (Available::Value(before), Available::Value(after)) => {
                    Available::Value(after.saturating_sub(before))
                }
                (_, after) => after,
            },
            balancing: self.balancing,
            weights: self.weights,
        }
    }
}

/// Combines each counter before and after; one that did not exist before counts from 0.
fn both(
    before: &BTreeMap<u16, BTreeMap<String, u64>>,
    after: BTreeMap<u16, BTreeMap<String, u64>>,
) -> BTreeMap<u16, BTreeMap<String, CounterSpan>> {
    let of_node = |(node, counts): (u16, BTreeMap<String, u64>)| {
        let counts = counts.into_iter().map(|(name, after)| {
            let before = before.get(&node).and_then(|counts| counts.get(&name));
            let counted = CounterSpan { before: before.copied().unwrap_or(0), after };
            (name, counted)
        });
        (node, counts.collect())
    };
    after.into_iter().map(of_node).collect()
}

fn by_node<T>(root: &Root, folder: &str, read: impl Fn(&str) -> Option<T>) -> BTreeMap<u16, T> {
    let names = root.list(folder).unwrap_or_default();
    let nodes = names.iter().filter_map(|name| {
        let node = name.strip_prefix("node")?.parse().ok()?;
        Some((node, read(&format!("{folder}/{name}"))?))
    });
    nodes.collect()
}

fn moved(root: &Root) -> Available<u64> {
    let text = root.read("/proc/vmstat").unwrap_or_default();
    match keyed(text.as_bytes(), "numa_pages_migrated") {
        Some(pages) => Available::Value(pages),
        None => Available::NotAvailable(
            "/proc/vmstat has no numa_pages_migrated (CONFIG_NUMA_BALANCING)".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_each_node_are_kept_before_and_after() {
        let tree = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let numastat = |hit: u64, miss: u64| {
            put(
                "sys/devices/system/node/node1/numastat",
                &format!("numa_hit {hit}\nnuma_miss {miss}\nnuma_foreign 0\n"),
            );
        };
        put("proc/vmstat", "numa_pages_migrated 5\n");
        put("proc/sys/kernel/numa_balancing", "1\n");
        put("sys/kernel/mm/mempolicy/weighted_interleave/node1", "3\n");
        numastat(100, 7);
        let root = Root::at(tree.path());
        let before = Counts::read(&root);
        numastat(150, 9);
        put("proc/vmstat", "numa_pages_migrated 25\n");
        let counts = before.until_now(&root);
        assert_eq!(counts.numastat[&1]["numa_hit"], CounterSpan { before: 100, after: 150 });
        assert_eq!(counts.numastat[&1]["numa_miss"].since(), 2);
        assert!(!counts.numastat[&1].contains_key("local_node"), "the kernel did not show it");
        assert_eq!(counts.missed_pages, BTreeMap::from([(1, 2)]));
        assert_eq!(counts.moved_pages, Available::Value(20));
        assert_eq!(counts.weights, BTreeMap::from([(1, 3)]));
    }
}
