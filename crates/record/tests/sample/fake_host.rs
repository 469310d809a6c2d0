//! Sampling a fake tree: values, missing sources, and names.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_record::run_folder::read_tables;
use assay_record::sample::{
    CpuFile, Depth, DiskTarget, FirstIo, GroupTarget, IoFiles, MemoryFiles, Sampler,
    SamplerAffinity, Targets, ThrottleTarget, prepare,
};
use assay_sys::kernel::Root;
use assay_test_support::put;

fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let root = tree.path();
    put(root, "cg/task1/blkio.bfq.io_service_bytes", "7:0 Read 4096\n7:0 Write 0\nTotal 4096\n");
    put(root, "cg/task1/blkio.bfq.io_serviced", "7:0 Read 1\n7:0 Write 0\nTotal 1\n");
    put(root, "cg/task1/cpuacct.usage", "123456789\n");
    put(root, "cg/task1/cpuacct.usage_percpu", "120000000 3456789 \n");
    put(root, "cg/task1/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 777\n");
    put(root, "cg/task1/memory.usage_in_bytes", "8192\n");
    put(root, "cg/task1/memory.stat", "total_cache 4096\ntotal_rss 1024\ntotal_rss_huge 512\n");
    put(root, "cg/task1/memory.failcnt", "7\n");
    put(root, "cg/task1/memory.max_usage_in_bytes", "9000\n");
    put(root, "cg/task1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    put(root, "proc/vmstat", "nr_dirty 3\nnr_writeback 1\nnr_dirty_threshold 100\n");
    put(root, "sys/block/loop0/stat", " 10 1 80 5 20 2 160 6 3 40 50 0 0 0 0 0 0\n");
    put(root, "proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
    tree
}

fn targets() -> Targets {
    let file = |name: &str| PathBuf::from("/cg/task1").join(name);
    let io = IoFiles::Blkio {
        bytes: file("blkio.bfq.io_service_bytes"),
        requests: file("blkio.bfq.io_serviced"),
    };
    Targets {
        groups: vec![GroupTarget {
            name: "task1".to_owned(),
            io: Ok((io, "7:0".to_owned())),
            cpu: Ok(CpuFile::Cpuacct(file("cpuacct.usage"))),
            pressure: None,
            memory: Ok(MemoryFiles { directory: PathBuf::from("/cg/task1"), is_v2: false }),
        }],
        disks: vec![DiskTarget { device: "loop0".to_owned() }],
        throttles: Ok(vec![ThrottleTarget { name: "task1".to_owned(), path: file("cpu.stat") }]),
        ..Targets::default()
    }
}

#[test]
fn every_source_has_its_table_and_missing_ones_a_reason() {
    let tree = tree();
    let prepared = prepare(&Root::at(tree.path()), &targets());
    let reason = &prepared.not_available["pressure"];
    assert!(reason.contains("/proc/pressure/cpu"), "{reason}");

    let folder = tempfile::tempdir().unwrap();
    let sampler = Sampler::start(
        prepared,
        folder.path(),
        Duration::from_millis(5),
        SamplerAffinity::unrestricted("a test"),
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let outcome = sampler.stop();
    assert!(outcome.failure.is_none());
    assert!(outcome.cost.rounds >= 2 && outcome.cost.cpu_s > 0.0);

    let tables = read_tables(folder.path()).unwrap();
    let value = |source: &str, subject: &str, column: &str| {
        let table = tables.iter().find(|table| table.source == source).unwrap();
        table.series(subject, column).next().unwrap().1
    };
    assert_eq!(value("io", "task1", "read_bytes"), 4096);
    assert_eq!(value("io", "task1", "read_ios"), 1);
    assert_eq!(value("cpu", "task1", "usage_ns"), 123_456_789);
    assert_eq!(value("disk", "loop0", "in_flight"), 3);
    assert_eq!(value("disk", "loop0", "weighted_ms"), 50);
    assert_eq!(value("host_cpu", "host", "iowait_ns"), 50_000_000);
    let page = assay_sys::kernel::anonymous_memory::page_size() as u64;
    assert_eq!(value("dirty", "host", "dirty_bytes"), 3 * page);
    assert_eq!(value("dirty", "host", "threshold_bytes"), 100 * page);
    assert_eq!(value("cpus", "cpu0", "idle_ns"), 40_000_000);
    assert_eq!(value("cpu_split", "task1", "cpu1_ns"), 3_456_789);
    assert_eq!(value("throttle", "task1", "throttled_periods"), 4);
    assert_eq!(value("throttle", "task1", "throttled_ns"), 777);
    assert_eq!(value("memory", "task1", "current_bytes"), 8192);
    assert_eq!(value("memory", "task1", "anon_bytes"), 1024);
    assert_eq!(value("memory", "task1", "anon_huge_bytes"), 512);
    assert_eq!(value("memory", "task1", "max_events"), 7, "v1 counts failures of charging");
    assert_eq!(value("memory", "task1", "oom_kills"), 2);
    assert_eq!(value("memory", "task1", "peak_bytes"), 9000);
    let events = tables.iter().find(|table| table.source == "memory").unwrap();
    assert_eq!(events.series("task1", "low_events").next(), None, "v1 counts no such events");
    let rounds = tables[0].time_ns.len() as u64;
    assert_eq!(rounds, outcome.cost.rounds, "no round is lost between memory and disk");
}

#[test]
fn a_counter_that_disappears_is_null() {
    let tree = tree();
    put(tree.path(), "sys/block/loop0/stat", "garbage\n");
    let mut prepared = prepare(&Root::at(tree.path()), &targets());
    let disk = prepared.sources.iter_mut().find(|source| source.name() == "disk").unwrap();
    let mut rows = disk.rows(|| 1);
    disk.read(&mut rows, Depth::Whole);
    assert_eq!(rows.table().column("in_flight").unwrap().values, [None]);
}

/// Targets of this many groups, with their files.
fn many(tree: &Path, groups: usize) -> Targets {
    let groups = (0..groups).map(|index| {
        let name = format!("many{index}");
        let folder = format!("cg/{name}");
        put(tree, &format!("{folder}/bytes"), "7:0 Read 4096\n7:0 Write 0\nTotal 4096\n");
        put(tree, &format!("{folder}/requests"), "7:0 Read 1\n7:0 Write 0\nTotal 1\n");
        put(tree, &format!("{folder}/cpu"), "5\n");
        let file = |name: &str| Path::new("/").join(&folder).join(name);
        let io = IoFiles::Blkio { bytes: file("bytes"), requests: file("requests") };
        let cpu = Ok(CpuFile::Cpuacct(file("cpu")));
        let memory = Err("not used".to_owned());
        GroupTarget { name, io: Ok((io, "7:0".to_owned())), cpu, pressure: None, memory }
    });
    Targets { groups: groups.collect(), ..Targets::default() }
}

/// Number of readings of bytes, requests and CPU time of the first group.
fn readings(groups: usize) -> [usize; 3] {
    let tree = tree();
    let prepared = prepare(&Root::at(tree.path()), &many(tree.path(), groups));
    let folder = tempfile::tempdir().unwrap();
    let interval = Duration::from_millis(10);
    let sampler =
        Sampler::start(prepared, folder.path(), interval, SamplerAffinity::unrestricted("a test"))
            .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(sampler.stop().failure.is_none());
    let tables = read_tables(folder.path()).unwrap();
    [("io", "read_bytes"), ("io", "read_ios"), ("cpu", "usage_ns")].map(|(source, column)| {
        let table = tables.iter().find(|table| table.source == source).unwrap();
        table.series("many0", column).count()
    })
}

#[test]
fn few_files_are_all_read_in_every_round() {
    let [bytes, requests, cpu] = readings(40);
    assert!(bytes >= 3, "{bytes}");
    assert_eq!((requests, cpu), (bytes, bytes));
}

#[test]
fn of_many_files_only_those_with_bytes_are_read_in_every_round() {
    let [bytes, requests, cpu] = readings(100);
    assert!(bytes > 12, "{bytes}");
    assert_eq!(requests, cpu);
    // The first and the last round read everything, and every tenth in between.
    let expected = (bytes - 1).div_ceil(10) + 1;
    assert_eq!(requests, expected, "{bytes} rounds");
}

#[test]
fn the_first_io_of_a_group_is_detected_and_a_silent_group_is_named() {
    let tree = tree();
    let root = Root::at(tree.path());
    let error = FirstIo::prepare(&root, &targets()).skew(Duration::from_millis(5)).unwrap_err();
    assert!(error.contains("task1"), "{error}");

    let watch = FirstIo::prepare(&root, &targets());
    put(tree.path(), "cg/task1/blkio.bfq.io_serviced", "7:0 Read 2\nTotal 2\n");
    assert_eq!(watch.skew(Duration::from_secs(5)), Ok(0.0), "one group cannot lag behind itself");
}

#[test]
fn a_group_removed_while_its_files_are_read_has_no_values() {
    let tree = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let folder = tree.path().join("cg").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cpuacct.usage"), "5\n").unwrap();
    }
    let group = |name: &str| GroupTarget {
        name: name.to_owned(),
        io: Err("none".to_owned()),
        cpu: Ok(CpuFile::Cpuacct(Path::new("/cg").join(name).join("cpuacct.usage"))),
        pressure: None,
        memory: Err("none".to_owned()),
    };
    let targets = Targets { groups: vec![group("a"), group("b")], ..Targets::default() };
    let root = Root::at(tree.path());
    let mut prepared = prepare(&root, &targets);
    let cpu = prepared.sources.iter_mut().find(|source| source.name() == "cpu").unwrap();
    let mut rows = cpu.rows(|| 1);
    // Reading a file of a removed group fails with ENODEV; in a fake tree it can only be emptied.
    std::fs::write(tree.path().join("cg/a/cpuacct.usage"), "").unwrap();
    std::fs::remove_dir_all(tree.path().join("cg/a")).unwrap();
    cpu.read(&mut rows, Depth::Whole);
    let table = rows.table();
    assert_eq!(table.column("usage_ns").unwrap().values, [None, Some(5)]);
}
