//! docs/reference/sources.md matches the program: written with ASSAY_BLESS=1, otherwise compared.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::whole_host::targets;
use assay_record::sample::registry::{Inclusion, SourceInfo};
use assay_record::sample::{Choice, PERF_COLUMNS, SOURCES, UNCORE_COLUMNS, prepare_chosen};
use assay_sys::kernel::Root;
use assay_test_support::put;

/// A host with every file, so that every source opens; one node and one CPU.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let free = "0 0 0 0 0 0 0 0 0 0 1";
    for (path, text) in [
        ("cg/a/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n".to_owned()),
        ("cg/a/cpuacct.usage", "1\n".to_owned()),
        ("cg/a/cpuacct.usage_percpu", "1\n".to_owned()),
        ("cg/a/cpu.stat", "nr_periods 1\n".to_owned()),
        ("cg/a/memory.current", "1\n".to_owned()),
        ("cg/a/memory.stat", "anon 1\n".to_owned()),
        ("cg/a/memory.events", "low 1\n".to_owned()),
        ("cg/a/memory.numa_stat", "anon N0=1\n".to_owned()),
        ("sys/block/sda/stat", "1 1 1 1 1 1 1 1 1 1 1\n".to_owned()),
        ("sys/devices/system/node/node0/cpulist", "0\n".to_owned()),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1 kB\n".to_owned()),
        ("sys/devices/system/node/node0/numastat", "numa_hit 1\n".to_owned()),
        ("proc/stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n".to_owned()),
        ("proc/vmstat", "nr_dirty 1\npgpgin 1\n".to_owned()),
        ("proc/meminfo", "MemTotal: 1 kB\n".to_owned()),
        ("proc/buddyinfo", format!("Node 0, zone Normal {free}\n")),
        ("proc/pagetypeinfo", format!("Node 0, zone Normal, type Movable {free}\n")),
        ("proc/self/numa_maps", String::new()),
        ("sys/fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\n".to_owned()),
        ("sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "1\n".to_owned()),
    ] {
        put(tree.path(), path, &text);
    }
    for resource in ["cpu", "io", "memory"] {
        put(tree.path(), &format!("proc/pressure/{resource}"), "some total=1\nfull total=1\n");
    }
    tree
}

/// Columns by source, according to the program.
fn columns() -> BTreeMap<String, Vec<String>> {
    let tree = tree();
    let all = SOURCES.iter().map(|source| source.name.to_owned()).collect();
    let prepared = prepare_chosen(&Root::at(tree.path()), &targets(), &Choice::Most(all));
    let sources = prepared.sources.iter();
    let opened = sources.map(|source| (source.name().to_owned(), source.columns().to_vec()));
    // No file tree can represent the counters of a CPU and of a memory controller.
    let counters = [("perf", PERF_COLUMNS.as_slice()), ("uncore", UNCORE_COLUMNS.as_slice())];
    let counters = counters.map(|(source, columns)| {
        (source.to_owned(), columns.iter().map(|column| (*column).to_owned()).collect())
    });
    opened.chain(counters).collect()
}

/// The unit of a column, derived from its name: names end in their unit, or are the kernel's.
fn unit(source: &str, column: &str) -> &'static str {
    let kernel = ["pgpgin", "pgpgout"];
    match column {
        _ if source == "vmstat" && kernel.contains(&column) => "KiB since boot",
        _ if source == "vmstat" || source == "nodes" && !column.ends_with("_bytes") => {
            "pages or events since boot"
        }
        "cpu" | "node" => "its number",
        "state" => "the letter of proc_pid_stat(5), as a number",
        _ if column.ends_with("_ns") => "nanoseconds since the start",
        _ if column.ends_with("_us") => "microseconds since boot",
        _ if column.ends_with("_ms") => "milliseconds since the start",
        _ if column.ends_with("_sectors") => "512 bytes, since the start",
        _ if column.ends_with("_permille") => "thousandths, now",
        _ if column == "in_flight" => "requests, now",
        _ if column.starts_with("mbm_") => "bytes since boot; each counter turns over at its width",
        _ if ["read_bytes", "write_bytes"].contains(&column) => "bytes since the start",
        _ if column.ends_with("_bytes") => "bytes, now",
        _ if column.starts_with("free_") || column.starts_with("huge_pages") => {
            "blocks or pages, now"
        }
        "sampled_pages" => "pages drawn; null where it is exact",
        _ => "events since the start",
    }
}

fn document() -> String {
    let columns = columns();
    let mut text = String::from(
        "# Sources of samples\n\n\
         How the numbers come about\nis in [sampling.md](../sampling.md). Every table has `time_ns` \
         and `subject` before these columns; a counter that\ncould not be read is null. For a \
         machine with one CPU and one node; others have a column for each. What is not marked *on request*\n\
         is in every run; what has no pace is read in every round. Below are the columns with their units. *Cost* is the kernel's CPU time for one read.\n",
    );
    for source in SOURCES {
        section(&mut text, source, columns.get(source.name).map_or(&[], Vec::as_slice));
    }
    text
}

fn section(text: &mut String, source: &SourceInfo, columns: &[String]) {
    let when = if source.inclusion == Inclusion::Always { "" } else { " On request." };
    let pace = if source.pace == "every round" { "" } else { source.pace };
    write!(text, "\n## `{}`\n\n{}.{when}\n\n", source.name, source.what).unwrap();
    for (label, value) in [
        ("subject", source.subject),
        ("reads", source.files),
        ("pace", pace),
        ("since", source.since),
        ("cost", source.cost),
    ] {
        if !value.is_empty() {
            writeln!(text, "- {label}: {value}").unwrap();
        }
    }
    let mut by_unit: Vec<(&str, Vec<&str>)> = Vec::new();
    for column in columns {
        let unit = unit(source.name, column);
        match by_unit.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, columns)) => columns.push(column),
            None => by_unit.push((unit, vec![column])),
        }
    }
    if !by_unit.is_empty() {
        text.push_str("\n| | |\n|---|---|\n");
    }
    for (unit, columns) in by_unit {
        let names: Vec<String> = columns.iter().map(|name| format!("`{name}`")).collect();
        writeln!(text, "| {} | {unit} |", names.join(", ")).unwrap();
    }
}

#[test]
fn the_reference_of_sources_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/sources.md");
    let document = document();
    if std::env::var_os("ASSAY_BLESS").is_some() {
        std::fs::write(&path, &document).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(found == document, "docs/reference/sources.md is old: ASSAY_BLESS=1 writes it anew");
}

#[test]
fn every_source_opens_on_a_host_with_all_files() {
    let columns = columns();
    for source in SOURCES.iter().filter(|source| !source.pace.is_empty()) {
        assert!(
            columns.get(source.name).is_some_and(|columns| !columns.is_empty()),
            "{}",
            source.name
        );
    }
    assert_eq!(columns.len(), SOURCES.len());
}

#[test]
fn disturbing_sources_are_read_only_on_request() {
    assert!(!Choice::Most(Vec::new()).includes("pagetypeinfo"));
    assert!(Choice::Most(vec!["pagetypeinfo".to_owned()]).includes("pagetypeinfo"));
    assert!(Choice::Most(Vec::new()).includes("threads"));
    assert!(!Choice::Usual.includes("threads") && Choice::Usual.includes("vmstat"));
}
