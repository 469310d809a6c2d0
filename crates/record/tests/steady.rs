//! The loop of the sampler does not allocate: once every buffer has reached its maximum size, neither a round
//! nor writing a batch allocates memory.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

#[path = "sample/whole_host.rs"]
mod whole_host;

use std::time::Duration;

use assay_record::run_folder::SampleStream;
use assay_record::sample::{Choice, Depth, Targets, prepare_chosen};
use assay_sys::kernel::allocations::{CountingAllocator, count};
use assay_sys::kernel::{Root, clock};
use assay_test_support::put;
use whole_host::targets;

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// Sources that discover subjects while reading, which allocates.
const DISCOVERS: [&str; 2] = ["pages", "threads"];

/// Reads every source until all buffers have reached their size, and then counts the allocations of one more
/// second of rounds and batches, by source.
fn allocations(root: &Root, targets: &Targets, choice: &Choice) -> Vec<(&'static str, u64)> {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepare_chosen(root, targets, choice);
    let mut by_source = Vec::new();
    for mut source in prepared.sources {
        if DISCOVERS.contains(&source.name()) {
            continue;
        }
        let mut rows = source.rows(clock::monotonic_ns);
        let mut stream =
            SampleStream::create(folder.path(), source.name(), &source.table().columns).unwrap();
        let mut second = |rounds: usize, between: Duration| {
            for round in 1..=rounds {
                std::thread::sleep(between);
                let depth = if round == rounds { Depth::Full } else { Depth::Whole };
                source.read(&mut rows, depth);
            }
            stream.append_rows(&rows).unwrap();
            rows.clear();
        };
        // In twice as many rounds, with time between them, there are more rows than in those that count.
        (0..3).for_each(|_| second(20, Duration::from_millis(3)));
        let before = count();
        second(10, Duration::ZERO);
        let made = count() - before;
        by_source.push((source.name(), made));
    }
    by_source
}

/// One after another: threads of a parallel test would belong to this process too.
#[test]
fn a_round_does_not_allocate() {
    a_round_over_groups_and_disks();
    a_round_over_this_host();
}

fn a_round_over_groups_and_disks() {
    let tree = tempfile::tempdir().unwrap();
    let free = "0 0 0 0 0 0 0 0 0 0 1";
    for (path, text) in [
        ("cg/a/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n".to_owned()),
        ("cg/a/cpuacct.usage", "1\n".to_owned()),
        ("cg/a/cpuacct.usage_percpu", "1\n".to_owned()),
        ("cg/a/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_usec 5\n".to_owned()),
        ("cg/a/memory.current", "1\n".to_owned()),
        ("cg/a/memory.stat", "anon 1\nfile 2\npgfault 7\n".to_owned()),
        ("cg/a/memory.events", "low 1\nhigh 2\n".to_owned()),
        ("sys/block/sda/stat", "1 1 1 1 1 1 1 1 1 1 1\n".to_owned()),
        ("sys/devices/system/node/node0/cpulist", "0\n".to_owned()),
        ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1 kB\n".to_owned()),
        ("sys/devices/system/node/node0/numastat", "numa_hit 1\n".to_owned()),
        ("proc/stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n".to_owned()),
        ("proc/vmstat", "nr_dirty 1\npgpgin 1\n".to_owned()),
        ("proc/meminfo", "MemTotal: 1 kB\n".to_owned()),
        ("proc/buddyinfo", format!("Node 0, zone Normal {free}\n")),
        ("proc/pressure/cpu", "some total=1\nfull total=1\n".to_owned()),
        ("proc/pressure/io", "some total=1\nfull total=1\n".to_owned()),
        ("proc/pressure/memory", "some total=1\nfull total=1\n".to_owned()),
    ] {
        put(tree.path(), path, &text);
    }
    let targets = Targets { processes: Targets::default().processes, ..targets() };
    let choice = Choice::Most(Vec::new());
    let by_source = allocations(&Root::at(tree.path()), &targets, &choice);
    let some: Vec<_> = by_source.iter().filter(|(_, made)| *made > 0).collect();
    assert!(by_source.len() >= 12, "{by_source:?}");
    assert!(some.is_empty(), "{some:?}");
}

fn a_round_over_this_host() {
    let choice = Choice::Most(Vec::new());
    let by_source = allocations(&Root::real(), &Targets::default(), &choice);
    let some: Vec<_> = by_source.iter().filter(|(_, made)| *made > 0).collect();
    assert!(by_source.len() >= 4, "{by_source:?}");
    assert!(some.is_empty(), "{some:?}");
}
