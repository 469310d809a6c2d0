//! Comparison with the counters of sysstat's `sadc`, read from the same kernel at the same time: sysstat's
//! values must lie between those read here before and after, and the steal column shows what sysstat counts
//! twice. Counters only grow, so no tolerance is needed. That columns computed from equal counters are equal
//! as well is tested on sysstat's own readings (`crates/report/tests/report/sar.rs`).

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_record::sample::{Choice, Depth, DiskTarget, Source, Targets, prepare_chosen};
use assay_sys::kernel::Root;
use assay_test_support::{HostSnapshot, Need, TestLoop, host_measured, skip};

const SADC: [&str; 2] = ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc"];

/// The host's last row of a source, by column.
fn reading(source: &mut Box<dyn Source>) -> BTreeMap<String, u64> {
    let mut rows = source.rows(|| 1);
    source.read(&mut rows, Depth::Full);
    let table = rows.table();
    let value = |column: &assay_record::run_folder::Column| {
        Some((column.name.clone(), (*column.values.last()?)?))
    };
    table.columns.iter().filter_map(value).collect()
}

/// Output of `sadf -r` for a file: each column with its first and its last value.
fn raw(file: &Path, what: &str) -> BTreeMap<String, (u64, u64)> {
    raw_of(file, what, "")
}

/// The same for the lines that contain this word.
fn raw_of(file: &Path, what: &str, with: &str) -> BTreeMap<String, (u64, u64)> {
    let output = Command::new("sadf").arg("-r").arg(file).args(["--", what]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut columns: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(';').map(str::trim).collect();
        if !with.is_empty() && !words.contains(&with) {
            continue;
        }
        let mut name = None;
        for word in words.iter().skip(1) {
            match (word.parse::<u64>(), name) {
                (Ok(value), Some(name)) => {
                    let entry = columns.entry(str::to_owned(name)).or_insert((value, value));
                    entry.1 = value;
                }
                (Err(_), _) => name = Some(*word),
                (Ok(_), None) => {}
            }
        }
    }
    columns
}

/// A loop device over a temporary file.
struct Loop {
    device: TestLoop,
    _folder: tempfile::TempDir,
}

impl Loop {
    fn make() -> Self {
        let folder = tempfile::Builder::new().prefix("assay-sar-").tempdir().unwrap();
        let image = folder.path().join("assay-image");
        Self { device: TestLoop::attach(&image, 16), _folder: folder }
    }

    fn name(&self) -> String {
        self.device.name()
    }

    /// Writes until `stop` is set.
    fn write_until(&self, stop: &AtomicBool) {
        let mut device = File::options().write(true).open(self.device.node()).unwrap();
        while !stop.load(Ordering::Relaxed) {
            device.rewind().unwrap();
            device.write_all(&[7; 1 << 20]).unwrap();
            device.sync_all().unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn counters_of_paging_match_sysstat_and_steal_is_not_doubled() {
    const NAME: &str = "counters_of_paging_match_sysstat_and_steal_is_not_doubled";
    let Some(sadc) = SADC.into_iter().find(|path| Path::new(path).exists()) else {
        return skip(NAME, "sysstat is not installed (scripts/setup test-host)");
    };
    let prepared = prepare_chosen(&Root::real(), &Targets::default(), &Choice::Usual);
    let source = prepared.sources.into_iter().find(|source| source.name() == "vmstat");
    let mut source = source.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assay-sar");
    let before = reading(&mut source);
    let status = Command::new(sadc).args(["1", "2"]).arg(&file).status().unwrap();
    let after = reading(&mut source);
    assert!(status.success());
    let theirs = raw(&file, "-B");
    let within = |ours: &str, sysstat_value: &str| {
        let (Some(before), Some(after)) = (before.get(ours), after.get(ours)) else { return };
        let (first, last) = theirs[sysstat_value];
        assert!(
            *before <= first && first <= last && last <= *after,
            "{sysstat_value}: {before} {first} {last} {after}"
        );
    };
    within("pgpgin", "pgpgin/s");
    within("pgpgout", "pgpgout/s");
    within("pgfault", "fault/s");
    within("pgmajfault", "majflt/s");
    within("pgfree", "pgfree/s");

    let sum = |reading: &BTreeMap<String, u64>, names: &[&str]| -> Option<u64> {
        names.iter().map(|name| reading.get(*name).copied()).sum()
    };
    let (first, last) = theirs["pgsteal/s"];
    let by_kind = ["pgsteal_anon", "pgsteal_file"];
    let by_origin = ["kswapd", "direct", "khugepaged", "proactive"];
    let takers: Vec<String> = by_origin.iter().map(|taker| format!("pgsteal_{taker}")).collect();
    let Some((least, most)) = sum(&before, &by_kind).zip(sum(&after, &by_kind)) else { return };
    // Since 5.8 each reclaimed page is counted by origin (except reclaim by a group's own limit) and by kind;
    // sysstat before 12.7.9 adds both up, so that it shows up to twice the number of reclaimed pages. A
    // kernel may lack some of the origins.
    let reclaimed = |reading: &BTreeMap<String, u64>| -> u64 {
        takers.iter().filter_map(|name| reading.get(name)).sum()
    };
    let doubled = first >= least + reclaimed(&before) && last <= most + reclaimed(&after);
    let once = first >= least && last <= most;
    assert!(doubled || once, "{least} {first} {last} {most}");
    // Reclaim by a group's own limit has no origin: where there was no other, both columns are the same.
    if reclaimed(&before) > 0 && doubled {
        assert!(!once, "{least} {first} {last} {most}");
    }
}

#[test]
fn memory_in_use_matches_sysstat() {
    const NAME: &str = "memory_in_use_matches_sysstat";
    let Some(sadc) = SADC.into_iter().find(|path| Path::new(path).exists()) else {
        return skip(NAME, "sysstat is not installed (scripts/setup test-host)");
    };
    let choice = Choice::Most(Vec::new());
    let prepared = prepare_chosen(&Root::real(), &Targets::default(), &choice);
    let source = prepared.sources.into_iter().find(|source| source.name() == "meminfo");
    let Some(mut source) = source else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assay-sar");
    let before = reading(&mut source);
    assert!(Command::new(sadc).args(["1", "2"]).arg(&file).status().unwrap().success());
    let after = reading(&mut source);
    let theirs = raw(&file, "-r");
    let total = before["total_bytes"] / 1024;
    if let Some((theirs, _)) = theirs.get("kbttlmem") {
        assert_eq!(total, *theirs);
    }
    // Volatile values are within a tenth of all memory of the values before and after: a guest that another
    // test starts in between commits gigabytes.
    for (name, column) in [
        ("free_bytes", "kbmemfree"),
        ("available_bytes", "kbavail"),
        ("buffers_bytes", "kbbuffers"),
        ("cached_bytes", "kbcached"),
        ("committed_bytes", "kbcommit"),
        ("active_bytes", "kbactive"),
        ("inactive_bytes", "kbinact"),
        ("dirty_bytes", "kbdirty"),
    ] {
        let (sampled, _) = theirs[column];
        let (one, other) = (before[name] / 1024, after[name] / 1024);
        let (least, most) =
            (one.min(other).saturating_sub(total / 10), one.max(other) + total / 10);
        assert!(
            (least..=most).contains(&sampled),
            "{column}: {sampled}, {one} before, {other} after"
        );
    }
}

#[test]
fn counters_of_a_busy_disk_match_sysstat() {
    const NAME: &str = "counters_of_a_busy_disk_match_sysstat";
    let Some(sadc) = SADC.into_iter().find(|path| Path::new(path).exists()) else {
        return skip(NAME, "sysstat is not installed (scripts/setup test-host)");
    };
    let Some(_lock) = host_measured(NAME, &[Need::Loop]) else { return };
    let snapshot = HostSnapshot::take();
    let disk = Loop::make();
    let targets = Targets { disks: vec![DiskTarget { device: disk.name() }], ..Targets::default() };
    let prepared = prepare_chosen(&Root::real(), &targets, &Choice::Usual);
    let source = prepared.sources.into_iter().find(|source| source.name() == "disk");
    let mut source = source.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assay-sar");
    let stop = AtomicBool::new(false);
    let (before, status, after) = std::thread::scope(|scope| {
        scope.spawn(|| disk.write_until(&stop));
        std::thread::sleep(Duration::from_millis(200));
        let before = reading(&mut source);
        let status = Command::new(sadc).args(["-S", "DISK", "1", "2"]).arg(&file).status();
        let after = reading(&mut source);
        stop.store(true, Ordering::Relaxed);
        (before, status.unwrap(), after)
    });
    let name = disk.name();
    drop((source, disk));
    HostSnapshot::assert_same(&snapshot, "after a disk beside sysstat");
    assert!(status.success());
    let theirs = raw_of(&file, "-d", &name);
    assert!(after["write_sectors"] > before["write_sectors"], "the disk did nothing");
    let columns: [(&[&str], &str); 9] = [
        (&["reads", "writes", "discards"], "tps"),
        (&["read_sectors"], "rkB/s"),
        (&["write_sectors"], "wkB/s"),
        (&["discard_sectors"], "dkB/s"),
        (&["read_ms"], "rd_ticks"),
        (&["write_ms"], "wr_ticks"),
        (&["discard_ms"], "dc_ticks"),
        (&["io_ms"], "tot_ticks"),
        (&["weighted_ms"], "aqu-sz"),
    ];
    for (ours, column) in columns {
        let sum = |reading: &BTreeMap<String, u64>| ours.iter().map(|name| reading[*name]).sum();
        let (least, most): (u64, u64) = (sum(&before), sum(&after));
        let (first, last) = theirs[column];
        assert!(
            least <= first && first <= last && last <= most,
            "{column}: {least} {first} {last} {most}"
        );
    }
}
