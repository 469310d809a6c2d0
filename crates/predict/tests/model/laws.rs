//! The closed-form laws of the knee, compared with the simulation.

use assay_predict::{Bfq, Device, Scheduler, weighted_jain};

use crate::toy::{ladder, member, ratio, run};

fn jain(groups: usize, depth: u32, pool: u32, slots: u32) -> f64 {
    let scenario = ladder(groups, depth, pool, slots);
    weighted_jain(&run(&scenario).shares, &scenario.expected())
}

fn near(actual: f64, expected: f64, by: f64) {
    assert!((actual - expected).abs() <= by, "{actual} where {expected} was expected");
}

#[test]
fn an_exhausted_pool_merges_the_heaviest_classes_first_and_ends_in_equal_shares() {
    // P = 128, D = 31, d = 8: right up to P / d = 16 groups.
    near(jain(16, 8, 128, 31), 1.0, 0.01);
    let broken = ladder(32, 8, 128, 31);
    let actual = run(&broken);
    near(weighted_jain(&actual.shares, &broken.expected()), 0.818, 0.02);
    for (actual, expected) in ratio(&actual).iter().zip([1.0, 2.0, 2.0, 2.0]) {
        near(*actual, expected, 0.12);
    }
    near(jain(64, 8, 128, 31), 0.662, 0.02);
    near(jain(128, 8, 128, 31), 0.662, 0.02);
}

#[test]
fn a_large_pool_keeps_weights_up_to_128_groups() {
    for groups in [16, 32, 64, 128] {
        near(jain(groups, 8, 4096, 31), 1.0, 0.02);
    }
}

#[test]
fn a_device_that_accepts_everything_ignores_weights() {
    // P = 256, D = 128, d = 8: right at 32 groups alone.
    assert!(jain(16, 8, 256, 128) < 0.9, "the device swallows all requests of 16 groups");
    near(jain(32, 8, 256, 128), 1.0, 0.03);
    assert!(jain(64, 8, 256, 128) < 0.9, "and 64 groups use the pool up");
}

#[test]
fn caps_of_the_pool_keep_tags_for_heavy_groups() {
    let mut scenario = ladder(32, 8, 128, 31);
    if let Scheduler::Bfq(bfq) = &mut scenario.scheduler {
        bfq.caps = true;
    }
    let with = ratio(&run(&scenario));
    assert!(with[3] > 2.0 * with[1], "{with:?} with caps, 1:2:2:2 without");
}

#[test]
fn idling_keeps_weights_with_one_request_at_a_time() {
    let mut scenario = ladder(4, 1, 256, 1);
    let without = weighted_jain(&run(&scenario).shares, &scenario.expected());
    assert!(without < 0.96, "{without}: an empty queue loses its turn");
    scenario.scheduler =
        Scheduler::Bfq(Bfq { budget: Some(64.0), rotational: false, ..Bfq::default() });
    // A thread that needs a little time for its next request.
    scenario.members.iter_mut().for_each(|member| member.submit_s = 2e-5);
    near(weighted_jain(&run(&scenario).shares, &scenario.expected()), 1.0, 0.01);
}

#[test]
fn one_request_at_a_time_is_exact_and_slow() {
    let mut scenario = ladder(8, 8, 256, 31);
    let free = run(&scenario).iops;
    scenario.scheduler = Scheduler::Bfq(Bfq {
        budget: Some(64.0),
        strict: true,
        rotational: false,
        ..Bfq::default()
    });
    let strict = run(&scenario);
    near(weighted_jain(&strict.shares, &scenario.expected()), 1.0, 0.005);
    assert!(strict.iops < free / 10.0, "{} of {free}", strict.iops);
}

#[test]
fn first_come_first_served_divides_by_outstanding_requests() {
    let mut scenario = ladder(4, 8, 256, 4);
    scenario.scheduler = Scheduler::Fifo;
    scenario.members = vec![member(100.0, 4), member(800.0, 8), member(100.0, 12)];
    let actual = run(&scenario).shares;
    for (actual, expected) in actual.iter().zip([4.0 / 24.0, 8.0 / 24.0, 12.0 / 24.0]) {
        near(*actual, expected, 0.02);
    }
}

#[test]
fn scarce_cpus_limit_the_throughput_and_are_never_idle() {
    let mut scenario = ladder(8, 16, 256, 128);
    scenario.device = Device::Loop { depth: 128 };
    scenario.cpus = 2.0;
    scenario.members.iter_mut().for_each(|own| (own.submit_s, own.serve_s) = (10e-6, 30e-6));
    let actual = run(&scenario);
    assert!(actual.idle < 0.1, "{}", actual.idle);
    near(actual.iops, 2.0 / 40e-6, 5_000.0);
}
