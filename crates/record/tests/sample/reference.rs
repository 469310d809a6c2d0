//! docs/reference/sources.md has every source, with its columns.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::collections::BTreeMap;

use crate::whole_host::targets;
use assay_record::sample::registry::Inclusion;
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
    let opened = sources.map(|source| (source.name().to_owned(), source.table().columns.clone()));
    // No file tree can represent the counters of a CPU and of a memory controller.
    let counters = [("perf", PERF_COLUMNS.as_slice()), ("uncore", UNCORE_COLUMNS.as_slice())];
    let counters = counters.map(|(source, columns)| {
        (source.to_owned(), columns.iter().map(|column| (*column).to_owned()).collect())
    });
    opened.chain(counters).collect()
}

#[test]
fn the_reference_lists_every_source_with_its_columns() {
    let page = include_str!("../../../../docs/reference/sources.md");
    let listed: BTreeMap<String, Vec<&str>> = page.split("\n## `").skip(1).map(section).collect();
    let expected = columns();
    assert_eq!(expected.len(), SOURCES.len(), "every source opens on a host with all files");
    for (source, mut columns) in expected {
        columns.sort();
        assert_eq!(listed.get(&source).unwrap_or(&vec![]), &columns, "{source}");
    }
    for source in SOURCES {
        let heading = format!("\n## `{}`\n", source.name);
        let text = page.split(&heading).nth(1).and_then(|text| text.split("\n- ").next());
        let says = text.unwrap_or_default().contains("On request.");
        assert_eq!(says, source.inclusion != Inclusion::Always, "{}", source.name);
    }
    assert_eq!(listed.len(), SOURCES.len());
}

/// The source's name and its columns, sorted: they stand in the first cells of its table.
fn section(text: &str) -> (String, Vec<&str>) {
    let name = text.split('`').next().unwrap().to_owned();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let mut columns: Vec<&str> =
        cells.flat_map(|cell| cell.trim().trim_end_matches('`').split("`, `")).collect();
    columns.sort_unstable();
    (name, columns)
}

#[test]
fn disturbing_sources_are_read_only_on_request() {
    assert!(!Choice::Most(Vec::new()).includes("pagetypeinfo"));
    assert!(Choice::Most(vec!["pagetypeinfo".to_owned()]).includes("pagetypeinfo"));
    assert!(Choice::Most(Vec::new()).includes("threads"));
    assert!(!Choice::Usual.includes("threads") && Choice::Usual.includes("vmstat"));
}
