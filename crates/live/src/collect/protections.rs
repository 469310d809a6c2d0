//! The counters of protected groups and of those beside them, at the start and at the end.

use std::collections::HashMap;
use std::path::Path;

use assay_audit::collect::read;
use assay_audit::collect::read::{number, own_memory_events};
use assay_audit::{ProtectionSetting, Snapshot, protection_settings};
use assay_sys::kernel::{Root, counters};

use crate::fairness::{MemoryCounts, ProtectionRow, protection};

/// Protections that are watched at most, and siblings of each: their files are read for it.
const MOST: usize = 256;

/// The protections of this host with their counters at the start.
pub(super) struct Protections {
    watched: Vec<(ProtectionSetting, MemoryCounts)>,
    /// How many there are beyond [`MOST`].
    pub(super) left_out: usize,
}

impl Protections {
    pub(super) fn start(root: &Root, snapshot: &Snapshot) -> Self {
        let (all, left_out) = protection_settings(snapshot, MOST);
        let mut stats = Stats::new(root);
        let with_counts = |setting: ProtectionSetting| {
            let counts = stats.counts(&setting);
            (setting, counts)
        };
        Self { watched: all.into_iter().map(with_counts).collect(), left_out }
    }

    /// Whether each of them held until now.
    pub(super) fn rows(&self, root: &Root) -> Vec<ProtectionRow> {
        let mut stats = Stats::new(root);
        let row = |(setting, first): &(ProtectionSetting, MemoryCounts)| {
            protection(setting, first, &stats.counts(setting))
        };
        self.watched.iter().map(row).collect()
    }
}

/// What `memory.stat` says of the groups at one moment. Each is read once: the siblings of a protected group are often protected too.
struct Stats<'r> {
    root: &'r Root,
    swaps: bool,
    known: HashMap<String, Stat>,
}

/// What is used of a `memory.stat`.
#[derive(Clone, Copy, Default)]
struct Stat {
    scanned: Option<u64>,
    /// `pgscan` also counts what a sibling reclaims at its own memory.max or memory.high while there is memory enough. kswapd
    /// works only when the machine is short of it.
    scanned_by_kswapd: Option<u64>,
    reclaimable: Option<u64>,
}

impl<'r> Stats<'r> {
    fn new(root: &'r Root) -> Self {
        let swaps = text(root, Path::new("/proc/swaps"));
        let swaps = swaps.is_some_and(|text| text.lines().count() > 1);
        Self { root, swaps, known: HashMap::new() }
    }

    fn counts(&mut self, setting: &ProtectionSetting) -> MemoryCounts {
        let stat = self.stat(&setting.directory);
        let siblings: Vec<Stat> = setting.siblings.iter().map(|group| self.stat(group)).collect();
        let own = Path::new(&setting.directory);
        MemoryCounts {
            scanned: stat.scanned,
            siblings_scanned: sum(siblings.iter().filter_map(|stat| stat.scanned_by_kswapd)),
            low_events: own_memory_events(self.root, own, "low"),
            used: number(self.root, own.join("memory.current")),
            reclaimable: stat.reclaimable,
            siblings_reclaimable: sum(siblings.iter().filter_map(|stat| stat.reclaimable)),
        }
    }

    fn stat(&mut self, group: &str) -> Stat {
        if let Some(known) = self.known.get(group) {
            return *known;
        }
        let text = text(self.root, &Path::new(group).join("memory.stat"));
        let stat = text.map_or_else(Stat::default, |text| Stat {
            scanned: keyed(&text, "pgscan"),
            scanned_by_kswapd: keyed(&text, "pgscan_kswapd"),
            reclaimable: reclaimable(&text, self.swaps),
        });
        self.known.insert(group.to_owned(), stat);
        stat
    }
}

/// What the kernel keeps in its lists for reclaim: page cache, and memory of processes where there is swap.
fn reclaimable(stat: &str, swaps: bool) -> Option<u64> {
    let of = |kind: &str| {
        let [inactive, active] =
            ["inactive", "active"].map(|list| keyed(stat, &format!("{list}_{kind}")));
        Some(inactive?.saturating_add(active?))
    };
    let (cache, anonymous) = (of("file")?, of("anon")?);
    Some(if swaps { cache.saturating_add(anonymous) } else { cache })
}

/// Nothing for no value at all.
fn sum(values: impl Iterator<Item = u64>) -> Option<u64> {
    values.reduce(u64::saturating_add)
}

#[cfg(test)]
thread_local! {
    /// How often a `memory.stat` was read.
    static STATS_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn text(root: &Root, file: &Path) -> Option<String> {
    #[cfg(test)]
    if file.ends_with("memory.stat") {
        STATS_READ.set(STATS_READ.get() + 1);
    }
    read::text(root, file)
}

fn keyed(text: &str, key: &str) -> Option<u64> {
    counters::keyed(text.as_bytes(), key)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_audit::collect::take_snapshot;

    use super::*;

    fn host(groups: &[(&str, &[(&str, &str)])]) -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/mountinfo", "25 1 0:22 / /cg rw - cgroup2 cgroup2 rw\n");
        write("cg/cgroup.controllers", "memory\n");
        for (group, files) in groups {
            files.iter().for_each(|(file, text)| write(&format!("cg/{group}/{file}"), text));
        }
        let root = Root::at(tree.path());
        (tree, root)
    }

    #[test]
    fn events_of_the_groups_below_are_not_those_of_the_group() {
        let low_events = |local: &[(&str, &str)]| {
            let files =
                [("cgroup.threads", "1\n"), ("memory.low", "4096\n"), ("memory.events", "low 3\n")];
            let files: Vec<(&str, &str)> = files.iter().chain(local).copied().collect();
            let (_tree, root) = host(&[("p", files.as_slice())]);
            let watched = Protections::start(&root, &take_snapshot(&root).unwrap()).watched;
            watched[0].1.low_events
        };
        assert_eq!(low_events(&[("memory.events.local", "low 0\n")]), Some(0));
        assert_eq!(low_events(&[]), Some(3), "before Linux 5.3");
    }

    #[test]
    fn memory_stat_of_each_group_is_read_once() {
        let files =
            [("cgroup.threads", "1\n"), ("memory.low", "4096\n"), ("memory.stat", "pgscan 7\n")];
        let names: Vec<String> = (0..40).map(|at| format!("g{at}")).collect();
        let groups: Vec<(&str, &[(&str, &str)])> =
            names.iter().map(|name| (name.as_str(), &files[..])).collect();
        let (_tree, root) = host(&groups);
        let snapshot = take_snapshot(&root).unwrap();
        STATS_READ.set(0);
        let watched = Protections::start(&root, &snapshot).watched;
        assert_eq!((watched.len(), STATS_READ.get()), (40, 40));
        assert_eq!(watched[0].1.scanned, Some(7));
    }
}
