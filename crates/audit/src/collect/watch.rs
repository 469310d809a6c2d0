//! Watching settings: what changed, when, from what to what, and which process wrote it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_host::facts::Available;
use assay_sys::exit::Error;
use assay_sys::kernel::{Root, clock, open_files, signal};
use jiff::Timestamp;
use serde::Serialize;

use super::groups;
use super::textfile::{Textfile, now_s};
use super::watched::{Place, Watched};
use super::writes::{Batch, Writer, Writes};
use crate::Change;
use crate::textfile::WatchCounts;

/// A signal may arrive just before a wait and would then not interrupt it.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Between two batches of writes, so that a program that writes all the time cannot keep a CPU busy here.
const REST: Duration = Duration::from_millis(5);

/// How long to watch, and how often to look.
#[derive(Debug, Clone, Copy)]
pub struct WatchOptions {
    /// Time between two readings of what nobody was seen to write.
    pub every: Duration,
    /// When to end; `None` at Ctrl-C.
    pub length: Option<Duration>,
}

/// A change with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WatchedChange {
    /// When it was seen, in UTC.
    pub time: String,
    /// What changed.
    #[serde(flatten)]
    pub change: Change,
    /// Who wrote to the file, or to others of the group, since the previous reading.
    pub written_by: Available<Vec<Writer>>,
}

/// What a watch saw in all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchSummary {
    /// Changes of settings.
    pub changes: usize,
    /// Groups that came.
    pub came: usize,
    /// Groups that are gone.
    pub went: usize,
    /// Groups that were watched at the end, in each hierarchy.
    pub groups: usize,
    /// How long it took.
    pub seconds: f64,
    /// CPU time of watching, as a part of one CPU.
    pub cpu: f64,
    /// Why writers are unknown, if they are.
    pub writers_unknown: Option<String>,
    /// What was not watched, if anything.
    pub left_out: Option<String>,
}

/// Watches the settings of all groups until the time is over or a signal comes, or `tell` returns false. Meanwhile it keeps
/// a file of metrics, if one is named.
///
/// # Errors
/// No control groups are mounted, or the file cannot be written.
pub fn watch_settings(
    root: &Root,
    options: WatchOptions,
    textfile: Option<&Path>,
    tell: &mut dyn FnMut(&WatchedChange) -> bool,
) -> Result<WatchSummary, Error> {
    open_files::raise_limit();
    let end = options.length.map(|length| Instant::now() + length);
    Watch::new(root)?.run(options.every, end, textfile.map(Textfile::new), tell)
}

fn cpu_ns() -> u64 {
    let (user, kernel) = clock::own_cpu_ns();
    user + kernel
}

struct Watch<'r> {
    root: &'r Root,
    watched: Watched<'r>,
    writes: Writes,
    round: usize,
}

impl<'r> Watch<'r> {
    fn new(root: &'r Root) -> Result<Self, Error> {
        let mounts: Vec<PathBuf> =
            groups::hierarchies(root).into_iter().map(|one| one.mount).collect();
        if mounts.is_empty() {
            return Err(groups::none_mounted());
        }
        // Reports first: what is written while files are opened is read afterwards.
        let writes = Writes::open(root, &mounts);
        Ok(Self { root, watched: Watched::new(root), writes, round: 0 })
    }

    /// Watches until `end`, a signal, or `tell` returns false.
    fn run(
        mut self,
        every: Duration,
        end: Option<Instant>,
        mut textfile: Option<Textfile<'_>>,
        tell: &mut dyn FnMut(&WatchedChange) -> bool,
    ) -> Result<WatchSummary, Error> {
        // Opening everything is not watching.
        let (first, cpu_before) = (Instant::now(), cpu_ns());
        let mut next = first + every;
        let mut changes = 0;
        while signal::interrupted_by().is_none() && end.is_none_or(|end| Instant::now() < end) {
            let mut found = self.written(end.map_or(next, |end| end.min(next)));
            let is_due = Instant::now() >= next;
            if is_due {
                found.extend(self.look());
                next = Instant::now() + every;
            }
            changes += found.len();
            if !found.iter().all(&mut *tell) {
                break;
            }
            if let Some(textfile) = &mut textfile {
                self.count(&mut textfile.counts, &found, is_due);
                textfile.write_if_due(self.root)?;
            }
        }
        let seconds = first.elapsed().as_secs_f64();
        Ok(WatchSummary {
            changes,
            came: self.watched.came,
            went: self.watched.went,
            groups: self.watched.groups(),
            seconds,
            cpu: (cpu_ns() - cpu_before) as f64 / 1e9 / seconds.max(1e-9),
            writers_unknown: self.writes.reason().map(str::to_owned),
            left_out: self.watched.left_out(),
        })
    }

    /// Counts what was found.
    fn count(&self, counts: &mut WatchCounts, found: &[WatchedChange], has_looked: bool) {
        counts.groups = self.watched.groups();
        (counts.came, counts.went) = (self.watched.came, self.watched.went);
        counts.writes_are_reported = self.writes.reason().is_none();
        found.iter().for_each(|one| counts.count(&one.change));
        if has_looked {
            counts.is_incomplete = self.watched.left_out().is_some();
            counts.looks += 1;
            counts.looked_s = now_s();
        }
    }

    /// Waits for writes, at most until then, and reads the groups that were written to.
    fn written(&mut self, until: Instant) -> Vec<WatchedChange> {
        let limit = until.saturating_duration_since(Instant::now()).min(LONGEST_WAIT);
        if !self.writes.wait(limit) {
            return Vec::new();
        }
        let batch = self.writes.take(self.root, &self.watched);
        let found = self.of_writes(&batch);
        std::thread::sleep(REST);
        found
    }

    /// Reads the files whose turn it is, and those that nobody would report.
    fn look(&mut self) -> Vec<WatchedChange> {
        self.round += 1;
        let is_reported = self.writes.is_complete();
        let is_over = || signal::interrupted_by().is_some();
        let changes = self.watched.look(self.round, !is_reported, &is_over);
        // A write just before the reading is reported just after it.
        let batch = self.writes.take(self.root, &self.watched);
        let mut found = self.with_writers(changes, &batch);
        found.extend(self.of_writes(&batch));
        found
    }

    fn of_writes(&mut self, batch: &Batch) -> Vec<WatchedChange> {
        let mut places: Vec<Place> = Vec::new();
        for (file, _) in batch {
            if let Some((place, _)) = self.watched.place(*file)
                && !places.contains(place)
            {
                places.push(place.clone());
            }
        }
        let changes = places.iter().flat_map(|place| self.watched.read(place)).collect();
        self.with_writers(changes, batch)
    }

    fn with_writers(&self, changes: Vec<(Place, Change)>, batch: &Batch) -> Vec<WatchedChange> {
        let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let one = |(place, change): (Place, Change)| WatchedChange {
            time: time.clone(),
            written_by: self.writes.writers(&self.watched, &place, &change, batch),
            change,
        };
        changes.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use assay_sys::kernel::parse::keyed;

    use super::super::watched::LISTING_ROUNDS;
    use super::*;

    fn tree() -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/mountinfo", "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("proc/self/cgroup", "0::/\n");
        write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
        write("sys/fs/cgroup/a.service/cpu.weight", "100\n");
        write("proc/sys/vm/swappiness", "60\n");
        top
    }

    /// Watches a tree while something is done to it after the first reading.
    fn watched(tree: &Path, act: impl FnOnce()) -> (Vec<WatchedChange>, Watch<'static>) {
        let root: &'static Root = Box::leak(Box::new(Root::at(tree)));
        let mut watch = Watch::new(root).unwrap();
        act();
        ((0..LISTING_ROUNDS).flat_map(|_| watch.look()).collect(), watch)
    }

    #[test]
    fn a_change_is_told_with_both_texts_and_why_its_writer_is_unknown() {
        let tree = tree();
        let file = tree.path().join("sys/fs/cgroup/a.service/cpu.weight");
        let (found, _) = watched(tree.path(), || fs::write(file, "400\n").unwrap());
        assert_eq!(found.len(), 1, "{found:?}");
        let change = &found[0].change;
        assert_eq!(change.file, "/sys/fs/cgroup/a.service/cpu.weight");
        assert_eq!((change.from.as_deref(), change.to.as_deref()), (Some("100"), Some("400")));
        assert!(found[0].written_by.reason().is_some());
    }

    #[test]
    fn groups_files_and_settings_of_the_host_come_and_go() {
        let tree = tree();
        let top = tree.path().join("sys/fs/cgroup");
        let (found, mut watch) = watched(tree.path(), || {
            fs::create_dir_all(top.join("new/below")).unwrap();
            fs::write(top.join("new/cpu.weight"), "100\n").unwrap();
            fs::write(tree.path().join("proc/sys/vm/swappiness"), "10\n").unwrap();
        });
        assert_eq!((found.len(), watch.watched.came), (1, 2), "{found:?}");
        assert_eq!(found[0].change.group, None);
        fs::remove_dir_all(top.join("new")).unwrap();
        fs::write(top.join("a.service/cpu.max"), "50000 100000\n").unwrap();
        let found: Vec<WatchedChange> = (0..LISTING_ROUNDS).flat_map(|_| watch.look()).collect();
        assert_eq!((found.len(), watch.watched.went), (1, 2), "{found:?}");
        assert_eq!(found[0].change.from, None);
    }

    #[test]
    fn groups_without_a_name_of_text_are_counted_and_a_signal_ends_a_look() {
        use std::os::unix::ffi::OsStrExt;
        let tree = tree();
        let name = std::ffi::OsStr::from_bytes(b"not\xfftext");
        let top = tree.path().join("sys/fs/cgroup");
        let (found, mut watch) = watched(tree.path(), || fs::create_dir(top.join(name)).unwrap());
        assert!(found.is_empty(), "{found:?}");
        let why = watch.watched.left_out().unwrap();
        assert!(why.contains("1 group whose name is not UTF-8"), "{why}");
        fs::write(top.join("a.service/cpu.weight"), "400\n").unwrap();
        assert!(watch.watched.look(0, true, &|| true).is_empty());
        assert_eq!(watch.watched.look(0, true, &|| false).len(), 1);
        let snapshot = super::super::take_snapshot(&Root::at(tree.path())).unwrap();
        let why = snapshot.hierarchies[0].left_out.as_deref().unwrap_or_default();
        assert!(why.contains("not UTF-8"), "{why}");
    }

    /// With a look every ten seconds, and four groups that come with each and go with the next.
    #[test]
    fn a_day_of_looks_takes_no_more_memory_and_descriptors_than_an_hour() {
        const HOUR: usize = 360;
        const DAY: usize = 24 * HOUR;
        let tree = tree();
        let root = Root::real();
        let size = || {
            let status = root.read("/proc/self/status").unwrap();
            let memory = keyed::colon(&status, "VmRSS").unwrap().trim_end_matches(" kB");
            (memory.parse::<usize>().unwrap(), root.list("/proc/self/fd").unwrap().len())
        };
        let own = Root::at(tree.path());
        let mut watch = Watch::new(&own).unwrap();
        let (mut groups, mut after_an_hour) = (Vec::new(), (0, 0));
        for look in 0..DAY {
            groups.drain(..).for_each(|group: PathBuf| fs::remove_dir_all(group).unwrap());
            for number in 0..4 {
                let name = format!("{}-{look}-{number}.scope", "long".repeat(40));
                groups.push(tree.path().join("sys/fs/cgroup").join(name));
                fs::create_dir(&groups[number]).unwrap();
                fs::write(groups[number].join("cpu.weight"), "100\n").unwrap();
            }
            watch.look();
            if look == HOUR {
                after_an_hour = size();
            }
        }
        let (memory, files) = size();
        eprintln!(
            "kB and descriptors: {after_an_hour:?} after an hour, {memory} and {files} after a day"
        );
        assert_eq!((watch.watched.came, watch.watched.groups()), (4 * DAY, 6));
        assert_eq!(files, after_an_hour.1);
        assert!(memory < after_an_hour.0 + 1024, "{after_an_hour:?}, then {memory} kB");
    }

    #[test]
    fn every_field_of_a_line_is_on_the_page_of_documents() {
        let tree = tree();
        let file = tree.path().join("sys/fs/cgroup/a.service/cpu.weight");
        let (found, _) = watched(tree.path(), || fs::write(file, "400\n").unwrap());
        let summary = WatchSummary {
            changes: 1,
            came: 0,
            went: 0,
            groups: 2,
            seconds: 1.0,
            cpu: 0.001,
            writers_unknown: None,
            left_out: None,
        };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/audit-documents.md");
        let page = fs::read_to_string(path).unwrap();
        let writer = Writer { process: 1, name: None };
        for document in [
            serde_json::to_value(&found[0]).unwrap(),
            serde_json::to_value(summary).unwrap(),
            serde_json::to_value(writer).unwrap(),
        ] {
            for name in document.as_object().unwrap().keys() {
                assert!(page.contains(&format!("`{name}`")), "{name}");
            }
        }
    }
}
