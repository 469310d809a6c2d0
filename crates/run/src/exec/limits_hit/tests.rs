//! Each limit: hit, not hit, and without its counter.

use assay_host::facts::Available;

use super::{Binding, Limit, LimitHit, judge};
use crate::exec::usage::{DeviceIo, Io, MemoryLeft, Peak, ResourceUsage, Stall, Throttling};

fn missing<T>() -> Available<T> {
    Available::NotAvailable("not on this kernel".to_owned())
}

/// Ten seconds with one of two CPUs used, all counters available and no limit hit.
pub(crate) fn no_limit_hit() -> ResourceUsage {
    let none = Available::Value(0);
    let calm = Available::Value(Stall { some_s: 0.0, full_s: 0.0 });
    let peak = |value| Available::Value(Peak { value, sampled: false });
    ResourceUsage {
        wall_s: 10.0,
        cpu_s: Available::Value(10.0),
        user_s: Available::Value(9.0),
        system_s: Available::Value(1.0),
        cpus_on_average: Available::Value(1.0),
        cpu_by_number_s: Available::Value(vec![10.0, 0.0]),
        throttling: Available::Value(Throttling { periods: 100, throttled: 0, time_s: 0.0 }),
        memory_peak: peak(8 << 20),
        memory_left: Available::NotAvailable("a test".to_owned()),
        swap_peak: peak(0),
        memory_max_hits: none.clone(),
        memory_high_hits: none.clone(),
        swap_max_hits: none.clone(),
        oom_kills: none.clone(),
        refaults: none.clone(),
        io: Available::Value(Io {
            read_bytes: 0,
            write_bytes: 0,
            devices: Vec::new(),
            source: "io.stat".to_owned(),
        }),
        processes_peak: peak(2),
        forks_refused: none,
        cpu_pressure: calm.clone(),
        memory_pressure: calm.clone(),
        io_pressure: calm,
        host_busy: Available::Value(0.5),
        host_cpus: 2,
        host_nodes: 1,
    }
}

fn judged(file: &str, reads: &str, change: impl FnOnce(&mut ResourceUsage)) -> LimitHit {
    let mut used = no_limit_hit();
    change(&mut used);
    judge(&Limit { file, reads, also: &[] }, &[], &used)
}

#[track_caller]
fn assert(judged: &LimitHit, binding: Binding, expected: &[&str]) {
    assert_eq!(judged.binding, binding, "{judged:?}");
    for text in expected {
        assert!(judged.figures.contains(text), "no `{text}` in {judged:?}");
    }
}

#[test]
fn a_quota_binds_in_periods_in_which_it_is_used_up() {
    for (file, reads) in [("cpu.max", "50000 100000"), ("cpu.cfs_quota_us", "50000")] {
        let free = judged(file, reads, |used| used.cpus_on_average = Available::Value(0.12));
        assert(&free, Binding::DidNotBind, &["0 of 100 periods throttled", "used 12 % of a CPU"]);
        let held = judged(file, reads, |used| {
            let throttling = Throttling { periods: 100, throttled: 90, time_s: 4.5 };
            used.throttling = Available::Value(throttling);
        });
        assert(&held, Binding::Bound, &["90 of 100 periods", "4.50 s of waiting, 45 %"]);
        let blind = judged(file, reads, |used| used.throttling = missing());
        assert(&blind, Binding::NotAvailable, &["not on this kernel"]);
    }
}

#[test]
fn a_memory_limit_binds_when_it_was_reached_or_killed() {
    for file in ["memory.max", "memory.limit_in_bytes"] {
        let free = judged(file, "67108864", |_| {});
        assert(&free, Binding::DidNotBind, &["0 times at the limit", "peak 8 MiB"]);
        let held = judged(file, "67108864", |used| {
            used.memory_max_hits = Available::Value(212);
            used.oom_kills = Available::Value(1);
            used.refaults = Available::Value(30);
            used.memory_pressure = Available::Value(Stall { some_s: 0.5, full_s: 0.1 });
            used.memory_left = Available::Value(MemoryLeft {
                anonymous: 4096,
                shmem: 40 << 20,
                page_cache: 3 << 20,
                kernel: None,
            });
        });
        let expected = [
            "212 times at the limit, 1 process killed",
            "30 pages",
            "500 ms (PSI some)",
            "; left at the end: 40 MiB of files in memory (/dev/shm, tmpfs), 3 MiB of page cache",
        ];
        assert(&held, Binding::Bound, &expected);
        let blind = judged(file, "67108864", |used| used.memory_max_hits = missing());
        assert(&blind, Binding::NotAvailable, &["not on this kernel"]);
    }
}

#[test]
fn a_sampled_peak_is_marked() {
    let free = judged("memory.max", "67108864", |used| {
        used.memory_peak = Available::Value(Peak { value: 1 << 20, sampled: true });
    });
    assert(&free, Binding::DidNotBind, &["sampled peak 1 MiB"]);
}

#[test]
fn the_high_mark_binds_when_the_group_was_over_it() {
    assert(&judged("memory.high", "4096", |_| {}), Binding::DidNotBind, &["0 times"]);
    let held = judged("memory.high", "4096", |used| used.memory_high_hits = Available::Value(7));
    assert(&held, Binding::Bound, &["7 times over the mark"]);
}

#[test]
fn pids_max_binds_when_a_fork_was_refused() {
    let free = judged("pids.max", "8", |_| {});
    assert(&free, Binding::DidNotBind, &["0 forks refused, at most 2 at once"]);
    let held = judged("pids.max", "8", |used| used.forks_refused = Available::Value(1));
    assert(&held, Binding::Bound, &["1 fork refused"]);
    let blind = judged("pids.max", "8", |used| used.forks_refused = missing());
    assert(&blind, Binding::NotAvailable, &[]);
}

#[test]
fn a_weight_binds_only_under_contention() {
    for (file, reads) in [("cpu.weight", "50"), ("cpu.shares", "512")] {
        assert(&judged(file, reads, |_| {}), Binding::DidNotBind, &["nothing contended"]);
        let contended = |used: &mut ResourceUsage| {
            used.host_busy = Available::Value(1.0);
            used.cpu_pressure = Available::Value(Stall { some_s: 5.0, full_s: 0.0 });
        };
        let held = judged(file, reads, contended);
        assert(&held, Binding::Bound, &["50 % of it by others", "50 % of the wall time"]);
        let alone = judged(file, reads, |used| {
            contended(used);
            used.cpu_s = Available::Value(20.0);
        });
        assert(&alone, Binding::DidNotBind, &["nothing contended"]);
        let blind = judged(file, reads, |used| used.cpu_pressure = missing());
        assert(&blind, Binding::NotAvailable, &[]);
    }
}

#[test]
fn waiting_does_not_decide_a_weight_beside_a_quota() {
    let mut used = no_limit_hit();
    used.host_busy = Available::Value(1.0);
    used.cpu_pressure = Available::Value(Stall { some_s: 5.0, full_s: 0.0 });
    let limit = Limit { file: "cpu.weight", reads: "50", also: &[] };
    assert(&judge(&limit, &["cpu.max"], &used), Binding::Undecided, &["quota"]);
}

#[test]
fn a_cpu_set_binds_when_it_was_used_up() {
    assert(&judged("cpuset.cpus", "0", |_| {}), Binding::Bound, &["1.00 of 1 CPUs", "on 0"]);
    assert(&judged("cpuset.cpus", "0-1", |_| {}), Binding::DidNotBind, &["every CPU"]);
    let half = |used: &mut ResourceUsage| used.cpus_on_average = Available::Value(0.5);
    assert(&judged("cpuset.cpus", "0", half), Binding::DidNotBind, &["(50 %)"]);
    let waiting = judged("cpuset.cpus", "0", |used| {
        half(used);
        used.cpu_pressure = Available::Value(Stall { some_s: 4.0, full_s: 0.0 });
    });
    assert(&waiting, Binding::Undecided, &["waited for a CPU 40 %"]);
}

#[test]
fn a_single_memory_node_never_binds() {
    let expected = ["every memory node"];
    assert(&judged("cpuset.mems", "0", |_| {}), Binding::DidNotBind, &expected);
    let two = judged("cpuset.mems", "0", |used| used.host_nodes = 2);
    assert(&two, Binding::Undecided, &["no counter"]);
}

fn reading(bytes: u64) -> impl FnOnce(&mut ResourceUsage) {
    move |used| {
        let device = DeviceIo {
            device: "8:0".to_owned(),
            name: "sda".to_owned(),
            read_bytes: bytes,
            write_bytes: 0,
            read_ios: bytes / 4096,
            write_ios: 0,
        };
        let source = "io.stat".to_owned();
        let io = Io { read_bytes: bytes, write_bytes: 0, devices: vec![device], source };
        used.io = Available::Value(io);
    }
}

#[test]
fn an_io_limit_binds_when_the_rate_is_near_it() {
    let (mebi, limit) = (1 << 20, "8:0 rbps=1048576 wbps=max riops=max wiops=max");
    let held = judged("io.max", limit, reading(10 * mebi));
    assert(&held, Binding::Bound, &["sda read 1 MiB/s of 1 MiB/s (100 %)"]);
    let free = judged("io.max", limit, reading(mebi));
    assert(&free, Binding::DidNotBind, &["(10 %)"]);
    let burst = judged("io.max", limit, |used| {
        reading(mebi)(used);
        used.io_pressure = Available::Value(Stall { some_s: 0.2, full_s: 0.0 });
    });
    assert(&burst, Binding::Undecided, &["burst", "200 ms"]);
    let v1 = judged("blkio.throttle.read_bps_device", "8:0 1048576", reading(10 * mebi));
    assert(&v1, Binding::Bound, &["100 %"]);
    let blind = judged("io.max", limit, |used| used.io = missing());
    assert(&blind, Binding::NotAvailable, &[]);
}

#[test]
fn io_weights_need_waiting_tasks() {
    assert(&judged("io.bfq.weight", "200", |_| {}), Binding::DidNotBind, &["nothing contended"]);
    let waiting = judged("blkio.bfq.weight", "200", |used| {
        used.io_pressure = Available::Value(Stall { some_s: 1.0, full_s: 0.0 });
    });
    assert(&waiting, Binding::Undecided, &["1.00 s"]);
}

#[test]
fn an_unlimited_value_never_binds_in_any_spelling() {
    for (file, reads) in [
        ("memory.max", "max"),
        ("cpu.max", "max 100000"),
        ("cpu.cfs_quota_us", "-1"),
        ("memory.limit_in_bytes", "9223372036854771712"),
    ] {
        assert(&judged(file, reads, |_| {}), Binding::DidNotBind, &["no limit is set"]);
    }
}

#[test]
fn a_limit_without_a_counter_is_undecided() {
    assert(&judged("memory.low", "4096", |_| {}), Binding::Undecided, &["`memory.low`"]);
}
