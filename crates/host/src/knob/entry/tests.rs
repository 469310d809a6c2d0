//! Tests of value ranges.

use crate::knob::find;

fn fits(knob: &str, value: &str) -> bool {
    find(knob).unwrap().check(value).is_ok()
}

#[test]
fn weights_have_the_limits_of_the_kernel() {
    for (knob, low, high) in [
        ("io.weight", 1, 10_000),
        ("io.bfq.weight", 1, 1_000),
        ("blkio.bfq.weight", 1, 1_000),
        ("cpu.weight", 1, 10_000),
        ("cpu.shares", 2, 262_144),
    ] {
        assert!(fits(knob, &low.to_string()) && fits(knob, &high.to_string()), "{knob}");
        assert!(!fits(knob, &(low - 1).to_string()), "{knob}");
        assert!(!fits(knob, &(high + 1).to_string()), "{knob}");
    }
}

#[test]
fn limits_accept_amounts_and_max_but_no_other_words() {
    for value in ["max", "64 MiB", "1048576", "1g"] {
        assert!(fits("memory.max", value), "{value}");
    }
    assert!(!fits("memory.max", "unlimited"));
    assert!(fits("pids.max", "max") && fits("pids.max", "64") && !fits("pids.max", "-1"));
}

#[test]
fn cpu_bandwidth_needs_a_quota_and_allows_a_period() {
    for value in ["50000 100000", "50000", "max", "max 1000", "50 %", "200%"] {
        assert!(fits("cpu.max", value), "{value}");
    }
    for value in ["", "999", "50 MiB", "50000 999", "50000 1000001", "1000 1000 1000"] {
        assert!(!fits("cpu.max", value), "{value}");
    }
}

#[test]
fn an_empty_list_of_cpus_is_refused() {
    assert!(fits("cpuset.cpus", "0-3,8"));
    assert!(!fits("cpuset.cpus", "") && !fits("cpuset.mems", "3-1"));
}

#[test]
fn the_message_names_a_unit_of_another_knob() {
    for (knob, value, word) in [
        ("memory.max", "50 %", "a percentage"),
        ("pids.max", "1 GiB", "an amount of data"),
        ("cpu.weight", "10 ms", "a duration"),
    ] {
        let message = find(knob).unwrap().check(value).unwrap_err();
        assert!(message.ends_with(word), "{message}");
    }
}

#[test]
fn durations_become_microseconds_and_switches_digits() {
    let normal = |knob: &str, value: &str| find(knob).unwrap().normal(value);
    assert_eq!(normal("cpu.max.burst", "20 ms").as_deref(), Ok("20000"));
    assert_eq!(normal("cpu.idle", "true").as_deref(), Ok("1"));
    assert_eq!(normal("cpu.uclamp.max", "12.5 %").as_deref(), Ok("12.50"));
    assert_eq!(
        normal("memory.reclaim", "1m swappiness=max").as_deref(),
        Ok("1048576 swappiness=max")
    );
    assert!(normal("cpu.uclamp.max", "101").is_err() && normal("cpu.idle", "2").is_err());
}
