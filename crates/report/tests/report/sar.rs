//! Compares the summary's columns of disks, memory and paging with those that sysstat 12.6.1
//! computes from the same readings. The output of `sadf -r` for a file of `sadc -S DISK 5 3` (Linux
//! 6.18, two intervals of exactly 5.00 s by its own uptime, a loop device and the disk below it
//! busy with writing) is converted to samples, and the results must equal the output of `sar` for
//! that file, to the last printed digit.

use std::collections::BTreeMap;

use assay_record::run_folder::{Column, Recording, Table};
use serde_json::Value;

use crate::cases;
use crate::fixture::Run;

const RAW: &str = include_str!("captured/sysstat-12.6.1-raw.txt");
const SHOWN: &str = include_str!("captured/sysstat-12.6.1-shown.txt");

/// The ends of the two intervals, and their length.
const ENDS: [&str; 2] = ["02:19:13", "02:19:18"];
const LENGTH_NS: u64 = 5_000_000_000;

/// Column names of `sadf -r` and the samples' names. Columns such as `rkB/s` contain sectors.
const DISK: [(&str, &str); 8] = [
    ("rkB/s", "read_sectors"),
    ("wkB/s", "write_sectors"),
    ("dkB/s", "discard_sectors"),
    ("rd_ticks", "read_ms"),
    ("wr_ticks", "write_ms"),
    ("dc_ticks", "discard_ms"),
    ("tot_ticks", "io_ms"),
    ("aqu-sz", "weighted_ms"),
];
const MEMORY: [(&str, &str); 10] = [
    ("kbttlmem", "total_bytes"),
    ("kbmemfree", "free_bytes"),
    ("kbavail", "available_bytes"),
    ("kbbuffers", "buffers_bytes"),
    ("kbcached", "cached_bytes"),
    ("kbcommit", "committed_bytes"),
    ("kbactive", "active_bytes"),
    ("kbinact", "inactive_bytes"),
    ("kbdirty", "dirty_bytes"),
    ("kbslab", "slab_bytes"),
];
const PAGING: [(&str, &str); 5] = [
    ("pgpgin/s", "pgpgin"),
    ("pgpgout/s", "pgpgout"),
    ("fault/s", "pgfault"),
    ("majflt/s", "pgmajfault"),
    ("pgfree/s", "pgfree"),
];

/// The numbers after each name in the line of that time that has all of `words`.
fn raw(end: &str, words: &[&str]) -> BTreeMap<String, Vec<u64>> {
    let has = |line: &&str| line.starts_with(end) && words.iter().all(|word| line.contains(word));
    let line = RAW.lines().find(has).unwrap();
    let mut readings: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut name = String::new();
    for field in line.split(';').map(str::trim).skip(1) {
        match field.parse() {
            Ok(value) => readings.entry(name.clone()).or_default().push(value),
            Err(_) => name = field.to_owned(),
        }
    }
    readings
}

/// The value that `sar` prints in the row of that time in `column`; `of` is the device.
fn shown(end: &str, of: Option<&str>, column: &str) -> f64 {
    let mut at = None;
    for line in SHOWN.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(position) = words.iter().position(|word| *word == column) {
            at = Some(position);
        } else if line.is_empty() {
            at = None;
        } else if let (Some(at), true) = (at, line.starts_with(end))
            && of.is_none_or(|device| words.get(1) == Some(&device))
        {
            return words[at].parse().unwrap();
        }
    }
    panic!("sar printed no {column} at {end}");
}

/// A table of one subject whose rows are the starts or ends of intervals.
fn table(source: &str, subject: &str, columns: Vec<(String, Vec<u64>)>) -> Table {
    let rows = columns[0].1.len();
    let column = |(name, values): (String, Vec<u64>)| Column {
        name,
        values: values.into_iter().map(Some).collect(),
    };
    Table {
        source: source.to_owned(),
        time_ns: (0..rows as u64).map(|row| row * LENGTH_NS).collect(),
        subject: vec![0; rows],
        subjects: vec![subject.to_owned()],
        columns: columns.into_iter().map(column).collect(),
    }
}

/// The summary of a recording of these samples.
fn summary(tables: Vec<Table>) -> Value {
    let Run { mut manifest, .. } = cases::kept();
    manifest.recording = Some(Recording {
        kind: "command".to_owned(),
        of: "sadc".to_owned(),
        pid: None,
        ended: None,
        log: None,
    });
    manifest.trials.truncate(1);
    let repeats = &mut manifest.trials[0].repeats;
    repeats.truncate(1);
    (repeats[0].released_ns, repeats[0].stopped_ns) = (0, LENGTH_NS);
    assay_report::recording_document(&manifest, &[vec![tables]])["summary"].clone()
}

fn number(summary: &Value, section: &str, id: &str) -> f64 {
    summary[section][id].as_f64().unwrap_or_else(|| panic!("no {section}.{id}: {summary}"))
}

fn renamed(
    readings: &BTreeMap<String, Vec<u64>>,
    names: &[(&str, &str)],
) -> Vec<(String, Vec<u64>)> {
    names.iter().map(|(theirs, ours)| ((*ours).to_owned(), readings[*theirs].clone())).collect()
}

/// Equal within rounding to `decimals`.
fn same(ours: f64, theirs: f64, decimals: i32) -> bool {
    (ours - theirs).abs() <= 0.5 * 10_f64.powi(-decimals) * (1.0 + 1e-9)
}

#[test]
fn disk_columns_equal_those_of_sar_d() {
    for (end, disk) in ENDS.iter().flat_map(|end| [(end, "vda"), (end, "loop8")]) {
        let readings = raw(end, &["DEV", disk]);
        let mut columns = renamed(&readings, &DISK);
        // `sadf -r` has only the sum of reads, writes and discards, which is all that matters.
        let none = vec![0, 0];
        columns.push(("reads".to_owned(), readings["tps"].clone()));
        columns.push(("writes".to_owned(), none.clone()));
        columns.push(("discards".to_owned(), none));
        let summary = summary(vec![table("disk", disk, columns)]);
        for (theirs, ours) in [
            ("tps", "tps"),
            ("rkB/s", "rkib_s"),
            ("wkB/s", "wkib_s"),
            ("dkB/s", "dkib_s"),
            ("areq-sz", "areq_kib"),
            ("aqu-sz", "aqu"),
            ("await", "await_ms"),
        ] {
            let ours = number(&summary, "disks", &format!("{disk}_{ours}"));
            let theirs_is = shown(end, Some(disk), theirs);
            assert!(same(ours, theirs_is, 2), "{end} {disk} {theirs}: {ours} {theirs_is}");
        }
        // sysstat caps at 100 %; the kernel's counter may be a tick more.
        let util = number(&summary, "disks", &format!("{disk}_util_percent"));
        assert!(same(util.min(100.0), shown(end, Some(disk), "%util"), 2), "{end} {disk}: {util}");
    }
}

#[test]
fn memory_columns_equal_those_of_sar_r() {
    let both = ENDS.map(|end| raw(end, &["kbmemfree"]));
    let swap = ENDS.map(|end| raw(end, &["kbttlswp"])["kbttlswp"][0] * 1024);
    let bytes = |theirs: &str| -> Vec<u64> {
        both.iter().map(|readings| readings[theirs][0] * 1024).collect()
    };
    let mut columns: Vec<(String, Vec<u64>)> =
        MEMORY.iter().map(|(theirs, ours)| ((*ours).to_owned(), bytes(theirs))).collect();
    columns.push(("swap_total_bytes".to_owned(), swap.to_vec()));
    // The mean of both, as in sysstat's last line, and each alone.
    let of_row = |row: usize| {
        let alone = |(name, values): &(String, Vec<u64>)| (name.clone(), vec![values[row]; 2]);
        columns.iter().map(alone).collect::<Vec<_>>()
    };
    for (end, columns) in
        [(ENDS[0], of_row(0)), (ENDS[1], of_row(1)), ("Average:", columns.clone())]
    {
        let summary = summary(vec![table("meminfo", "host", columns)]);
        for (theirs, ours) in MEMORY[1..9].iter().chain(&[("kbmemused", "used_bytes")]) {
            let kib = number(&summary, "memory", ours) / 1024.0;
            assert!(same(kib, shown(end, None, theirs), 0), "{end} {theirs}: {kib}");
        }
        for (theirs, ours) in [("%memused", "used_percent"), ("%commit", "committed_percent")] {
            let percent = number(&summary, "memory", ours);
            assert!(same(percent, shown(end, None, theirs), 2), "{end} {theirs}: {percent}");
        }
    }
}

#[test]
fn paging_rates_equal_those_of_sar_b() {
    for end in ENDS {
        let readings = raw(end, &["pgpgin/s"]);
        let summary = summary(vec![table("vmstat", "host", renamed(&readings, &PAGING))]);
        for (theirs, ours) in [
            ("pgpgin/s", "pgpgin_kib_s"),
            ("pgpgout/s", "pgpgout_kib_s"),
            ("fault/s", "fault_s"),
            ("majflt/s", "majflt_s"),
            ("pgfree/s", "pgfree_s"),
        ] {
            let ours = number(&summary, "paging", ours);
            let theirs_is = shown(end, None, theirs);
            assert!(same(ours, theirs_is, 2), "{end} {theirs}: {ours} {theirs_is}");
        }
    }
}
