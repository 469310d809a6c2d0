//! Conditions of a host while it is sampled: missing files, a full disk, processes that come and go, a
//! changed clock.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::whole_host::targets;
use assay_record::run_folder::{Table, read_tables};
use assay_record::sample::SOURCES;
use assay_record::sample::{
    Choice, Depth, Prepared, ProcessTarget, Processes, Rows, Sampler, SamplerAffinity, Source,
    Targets, prepare_chosen, registry::TableInfo,
};
use assay_sys::kernel::{Root, clock, fifo::Fifo};
use assay_test_support::{HostSnapshot, host_lock, put};

const FREE: &str = "Node 0, zone Normal 0 0 0 0 0 0 0 0 0 0 1\n";
const TYPE: &str = "Node 0, zone Normal, type Movable 0 0 0 0 0 0 0 0 0 0 1\n";

/// Every file of a host, with its content and the sources that depend on it.
const FILES: [(&str, &str, &[&str]); 16] = [
    ("cg/a/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n", &["io"]),
    ("cg/a/cpuacct.usage", "1\n", &["cpu"]),
    ("cg/a/cpuacct.usage_percpu", "1\n", &["cpu_split"]),
    ("cg/a/cpu.stat", "nr_periods 1\nnr_throttled 0\n", &["throttle"]),
    ("cg/a/memory.current", "1\n", &["memory"]),
    ("cg/a/memory.stat", "anon 1\n", &["memory", "memory_stat"]),
    ("cg/a/memory.events", "low 1\n", &["memory"]),
    ("sys/block/sda/stat", "1 1 1 1 1 1 1 1 1 1 1\n", &["disk"]),
    ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1 kB\n", &["nodes"]),
    ("sys/devices/system/node/node0/cpulist", "0\n", &[]),
    ("proc/stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n", &["host_cpu", "cpus"]),
    ("proc/vmstat", "nr_dirty 1\npgpgin 1\n", &["vmstat", "dirty"]),
    ("proc/meminfo", "MemTotal: 1 kB\n", &["meminfo"]),
    ("proc/buddyinfo", FREE, &["buddyinfo"]),
    ("proc/pagetypeinfo", TYPE, &["pagetypeinfo"]),
    ("proc/pressure/io", "some total=1\nfull total=1\n", &["pressure"]),
];

fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for (path, text, _) in FILES {
        put(tree.path(), path, text);
    }
    for resource in ["cpu", "memory"] {
        put(tree.path(), &format!("proc/pressure/{resource}"), "some total=1\nfull total=1\n");
    }
    put(tree.path(), "sys/devices/system/node/node0/numastat", "numa_hit 1\n");
    put(tree.path(), "proc/self/numa_maps", "");
    tree
}

/// Samples for three rounds; returns the sources that have rows, and the missing ones.
fn sampled(tree: &Path) -> (BTreeSet<String>, Vec<(String, String)>) {
    let all = SOURCES.iter().map(|source| source.name.to_owned()).collect();
    let prepared = prepare_chosen(&Root::at(tree), &targets(), &Choice::Most(all));
    let lacking: Vec<_> = prepared.not_available.clone().into_iter().collect();
    let folder = tempfile::tempdir().unwrap();
    let interval = Duration::from_millis(5);
    let sampler =
        Sampler::start(prepared, folder.path(), interval, SamplerAffinity::unrestricted("a test"))
            .unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let outcome = sampler.stop();
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let tables = read_tables(folder.path()).unwrap();
    let with_rows = tables.into_iter().filter(|table| !table.time_ns.is_empty());
    (with_rows.map(|table| table.source).collect(), lacking)
}

#[test]
fn a_missing_file_disables_its_sources_with_a_reason() {
    let (whole, _) = sampled(tree().path());
    assert!(whole.len() >= 12, "{whole:?}");
    for (path, _, sources) in FILES {
        let tree = tree();
        std::fs::remove_file(tree.path().join(path)).unwrap();
        let (remaining, lacking) = sampled(tree.path());
        let lost: BTreeSet<&str> = whole.difference(&remaining).map(String::as_str).collect();
        let expected: BTreeSet<&str> =
            sources.iter().copied().filter(|source| whole.contains(*source)).collect();
        assert_eq!(lost, expected, "without {path}");
        for source in sources {
            let reason = lacking.iter().find(|(name, _)| name == source);
            let reason =
                &reason.unwrap_or_else(|| panic!("{source} without {path}: {lacking:?}")).1;
            assert!(reason.contains(path), "{source} without {path}: {reason}");
        }
    }
}

/// An almost full file system in memory.
struct Full(tempfile::TempDir);

impl Full {
    fn mount() -> Self {
        let folder = tempfile::Builder::new().prefix("assay-test-full-").tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "assay-test"])
            .arg(folder.path())
            .status();
        assert!(mounted.unwrap().success());
        let full = Self(folder);
        std::fs::write(full.0.path().join("ballast"), vec![1; 100 << 10]).unwrap();
        full
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_ends_the_samples_but_not_the_trial() {
    const NAME: &str = "a_full_disk_ends_the_samples_but_not_the_trial";
    let Some(_lock) = host_lock(NAME, &[]) else { return };
    let before = HostSnapshot::take();
    let full = Full::mount();
    let tree = tree();
    let prepared = prepare_chosen(&Root::at(tree.path()), &targets(), &Choice::Usual);
    let folder = full.0.path();
    let interval = Duration::from_millis(1);
    let sampler =
        Sampler::start(prepared, folder, interval, SamplerAffinity::unrestricted("a test"))
            .unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let outcome = sampler.stop();
    let failure = outcome.failure.unwrap().to_string();
    assert!(failure.contains("No space left on device"), "{failure}");
    assert!(outcome.cost.rounds > 5, "sampling went on");
    // Rows written before remain, and their number is recorded.
    let tables = read_tables(folder).unwrap();
    let rows: u64 = tables.iter().map(|table| table.time_ns.len() as u64).sum();
    let written: u64 = outcome.cost.sources.values().map(|source| source.rows).sum();
    assert_eq!(rows, written);
    drop(full);
    HostSnapshot::assert_same(&before, "after the disk was full");
}

fn grows(table: &Table, subject: &str, column: &str) -> bool {
    let values: Vec<u64> = table.series(subject, column).map(|(_, value)| value).collect();
    values.is_sorted()
}

#[test]
fn threads_and_processes_that_come_and_go_are_followed() {
    let of = Processes::Tree { pid: std::process::id(), itself: false };
    let targets = Targets {
        processes: Ok(vec![ProcessTarget { name: "churn".to_owned(), of }]),
        ..Targets::default()
    };
    let choice = Choice::Also(vec!["threads".to_owned(), "pages".to_owned()]);
    let prepared = prepare_chosen(&Root::real(), &targets, &choice);
    let folder = tempfile::tempdir().unwrap();
    let interval = Duration::from_millis(10);
    let affinity = SamplerAffinity::unrestricted("a test");
    let sampler = Sampler::start(prepared, folder.path(), interval, affinity).unwrap();
    let script = "i=0; while [ $i -lt 150 ]; do (sleep 0.5; true) & i=$((i+1)); done; wait";
    let began = Instant::now();
    let mut churn = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap();
    assert!(churn.wait().unwrap().success());
    let outcome = sampler.stop();
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let tables = read_tables(folder.path()).unwrap();
    let threads = tables.iter().find(|table| table.source == "threads").unwrap();
    assert!(threads.subjects.len() > 5, "{:?} in {:?}", threads.subjects, began.elapsed());
    for subject in &threads.subjects {
        assert!(grows(threads, subject, "run_ns"), "{subject}");
        // It has ended; its last row shows that.
        let last = threads.series(subject, "state").last().map(|(_, state)| state);
        assert_eq!(last, Some(u64::from(b'X')), "{subject}");
    }
}

#[test]
fn times_are_of_a_monotonic_clock() {
    let tree = tree();
    let prepared = prepare_chosen(&Root::at(tree.path()), &targets(), &Choice::Usual);
    let folder = tempfile::tempdir().unwrap();
    let before = clock::monotonic_ns();
    let affinity = SamplerAffinity::unrestricted("a test");
    let sampler =
        Sampler::start(prepared, folder.path(), Duration::from_millis(5), affinity).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(sampler.stop().failure.is_none());
    let after = clock::monotonic_ns();
    for table in read_tables(folder.path()).unwrap() {
        assert!(table.time_ns.is_sorted(), "{}", table.source);
        assert!(table.time_ns.iter().all(|time| (before..=after).contains(time)));
    }
    // The sampler uses no other clock: a step of the wall clock cannot affect it.
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!text.contains("SystemTime"), "{}", path.display());
                assert!(!text.contains("CLOCK_REALTIME"), "{}", path.display());
            }
        }
    }
}

/// A source that blocks forever after a number of reads.
struct Probe {
    table: TableInfo,
    reads: Arc<AtomicUsize>,
    hangs_after: usize,
}

impl Probe {
    fn new(hangs_after: usize) -> Self {
        let table = TableInfo::new("probe", vec!["nothing".to_owned()], vec!["it".to_owned()]);
        Self { table, reads: Arc::new(AtomicUsize::new(0)), hangs_after }
    }
}

impl Source for Probe {
    fn table(&self) -> &TableInfo {
        &self.table
    }

    fn read(&mut self, rows: &mut Rows, _: Depth) {
        if self.reads.fetch_add(1, Ordering::SeqCst) >= self.hangs_after {
            loop {
                std::thread::park();
            }
        }
        rows.add(0, &[Some(1)]);
    }
}

fn started(probe: Probe, folder: &Path) -> Result<Sampler, assay_record::run_folder::Error> {
    let prepared = Prepared { sources: vec![Box::new(probe)], not_available: [].into() };
    Sampler::start(
        prepared,
        folder,
        Duration::from_millis(20),
        SamplerAffinity::unrestricted("a test"),
    )
}

#[test]
fn a_hanging_source_does_not_block_the_end_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let sampler = started(Probe::new(3), folder.path()).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let begun = Instant::now();
    let outcome = sampler.stop();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let failure = outcome.failure.unwrap().to_string();
    assert!(failure.contains("source `probe` hangs"), "{failure}");
}

#[test]
fn a_source_that_hangs_at_once_does_not_block_the_start_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let failure = started(Probe::new(0), folder.path()).err().unwrap().to_string();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert!(failure.contains("source `probe` hangs"), "{failure}");
}

/// A FIFO without a writer acts as a memory map that is locked forever.
#[test]
fn a_locked_memory_map_does_not_delay_other_sources() {
    let tree = tree();
    let rest: Vec<String> = (5..=52).map(|field| field.to_string()).collect();
    put(tree.path(), "proc/7/stat", &format!("7 (p) S 1 {}\n", rest.join(" ")));
    put(tree.path(), "proc/7/status", "PPid:\t1\n");
    put(tree.path(), "proc/7/statm", "9 5 1 1 0 1 0\n");
    drop(Fifo::make(&tree.path().join("proc/7"), "numa_maps").unwrap());
    let of = Processes::Tree { pid: 7, itself: true };
    let processes = Ok(vec![ProcessTarget { name: "locked".to_owned(), of }]);
    let targets = Targets { processes, ..targets() };
    let choice = Choice::Also(vec!["pages".to_owned()]);
    let mut prepared = prepare_chosen(&Root::at(tree.path()), &targets, &choice);
    assert!(prepared.sources.iter().any(|source| source.name() == "pages"));
    let probe = Probe::new(usize::MAX);
    let reads = Arc::clone(&probe.reads);
    prepared.sources.push(Box::new(probe));
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let interval = Duration::from_millis(50);
    let sampler =
        Sampler::start(prepared, folder.path(), interval, SamplerAffinity::unrestricted("a test"))
            .unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let outcome = sampler.stop();
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let why = &outcome.not_available["pages.locked"];
    assert!(why.contains("its files in /proc are locked (process 7)"), "{why}");
    assert!(reads.load(Ordering::SeqCst) > 10, "{reads:?}");
}
