//! Our counters beside those of sysstat's `sadc`, read from the same kernel at the same time: what
//! sysstat has read lies between what was read here before and after, and the steal column shows
//! what it counts twice.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use assay_kernel::Root;
use assay_sample::{Choice, Depth, Rows, Source, Targets, prepare_chosen};
use assay_testbed::skip;

const SADC: [&str; 2] = ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc"];

/// The last row that a source has of the host, by column.
fn reading(source: &mut Box<dyn Source>) -> BTreeMap<String, u64> {
    let mut rows = Rows::new(source.as_ref(), || 1);
    source.read(&mut rows, Depth::Full);
    let table = rows.table();
    let value =
        |column: &assay_record::Column| Some((column.name.clone(), (*column.values.last()?)?));
    table.columns.iter().filter_map(value).collect()
}

/// What `sadf -r` prints of a file: each column with its first and its last number.
fn raw(file: &Path, what: &str) -> BTreeMap<String, (u64, u64)> {
    let output = Command::new("sadf").arg("-r").arg(file).args(["--", what]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut columns: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(';').map(str::trim).collect();
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

#[test]
fn counters_of_paging_are_those_that_sysstat_reads_and_steal_is_not_doubled() {
    const NAME: &str = "counters_of_paging_are_those_that_sysstat_reads_and_steal_is_not_doubled";
    let Some(sadc) = SADC.into_iter().find(|path| Path::new(path).exists()) else {
        return skip(NAME, "sysstat is not installed (scripts/setup bench)");
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
    let within = |ours: &str, theirs_is: &str| {
        let (Some(before), Some(after)) = (before.get(ours), after.get(ours)) else { return };
        let (first, last) = theirs[theirs_is];
        assert!(
            *before <= first && first <= last && last <= *after,
            "{theirs_is}: {before} {first} {last} {after}"
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
    let Some((least, most)) = sum(&before, &by_kind).zip(sum(&after, &by_kind)) else { return };
    // Since 5.8 each page that is taken is counted by who took it and by what it was; sysstat
    // before 12.7.9 adds both up, so that it has twice as many pages as were ever taken.
    let doubled = first >= 2 * least && last <= 2 * most;
    let once = first >= least && last <= most;
    assert!(doubled || once, "{least} {first} {last} {most}");
    if least > 0 && doubled {
        assert!(!once, "{least} {first} {last} {most}");
    }
}

#[test]
fn memory_in_use_is_what_sysstat_reads() {
    const NAME: &str = "memory_in_use_is_what_sysstat_reads";
    let Some(sadc) = SADC.into_iter().find(|path| Path::new(path).exists()) else {
        return skip(NAME, "sysstat is not installed (scripts/setup bench)");
    };
    let choice = Choice::Most(Vec::new());
    let prepared = prepare_chosen(&Root::real(), &Targets::default(), &choice);
    let source = prepared.sources.into_iter().find(|source| source.name() == "meminfo");
    let Some(mut source) = source else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assay-sar");
    let ours = reading(&mut source);
    assert!(Command::new(sadc).args(["1", "2"]).arg(&file).status().unwrap().success());
    let theirs = raw(&file, "-r");
    let total = ours["total_bytes"] / 1024;
    if let Some((theirs, _)) = theirs.get("kbttlmem") {
        assert_eq!(total, *theirs);
    }
    // What moves is within a tenth of all memory of what it was a moment before.
    for (name, column) in [("free_bytes", "kbmemfree"), ("cached_bytes", "kbcached")] {
        let (found, _) = theirs[column];
        assert!((ours[name] / 1024).abs_diff(found) < total / 10, "{column}: {found}");
    }
}
