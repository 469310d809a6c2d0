//! The laws of the knee, as a-priori predictions.

use assay_predict::{Bfq, Device, Scheduler, weighted_jain};

use crate::toy::{ladder, member, ratio, run};

fn jain(groups: usize, depth: u32, pool: u32, slots: u32) -> f64 {
    let question = ladder(groups, depth, pool, slots);
    weighted_jain(&run(&question).shares, &question.expected())
}

fn near(found: f64, expected: f64, by: f64) {
    assert!((found - expected).abs() <= by, "{found} where {expected} was expected");
}

#[test]
fn a_pool_that_is_used_up_merges_the_heaviest_first_and_ends_in_equal_shares() {
    // P = 128, D = 31, d = 8: right up to P / d = 16 groups.
    near(jain(16, 8, 128, 31), 1.0, 0.01);
    let broken = ladder(32, 8, 128, 31);
    let found = run(&broken);
    near(weighted_jain(&found.shares, &broken.expected()), 0.818, 0.02);
    for (found, expected) in ratio(&found).iter().zip([1.0, 2.0, 2.0, 2.0]) {
        near(*found, expected, 0.12);
    }
    near(jain(64, 8, 128, 31), 0.662, 0.02);
    near(jain(128, 8, 128, 31), 0.662, 0.02);
}

#[test]
fn a_pool_that_is_large_enough_keeps_weights_to_128_groups() {
    for groups in [16, 32, 64, 128] {
        near(jain(groups, 8, 4096, 31), 1.0, 0.02);
    }
}

#[test]
fn a_device_that_takes_everything_leaves_nothing_to_divide() {
    // P = 256, D = 128, d = 8: right at 32 groups alone.
    assert!(jain(16, 8, 256, 128) < 0.9, "the device swallows all requests of 16 groups");
    near(jain(32, 8, 256, 128), 1.0, 0.03);
    assert!(jain(64, 8, 256, 128) < 0.9, "and 64 groups use the pool up");
}

#[test]
fn caps_of_the_pool_keep_a_heavy_group_from_waiting_for_places() {
    let mut question = ladder(32, 8, 128, 31);
    if let Scheduler::Bfq(bfq) = &mut question.scheduler {
        bfq.caps = true;
    }
    let with = ratio(&run(&question));
    assert!(with[3] > 2.0 * with[1], "{with:?} with caps, 1:2:2:2 without");
}

#[test]
fn holding_the_disk_keeps_the_weights_of_one_request_at_a_time() {
    let mut question = ladder(4, 1, 256, 1);
    let without = weighted_jain(&run(&question).shares, &question.expected());
    assert!(without < 0.96, "{without}: an empty queue loses its turn");
    question.scheduler =
        Scheduler::Bfq(Bfq { budget: Some(64.0), rotational: false, ..Bfq::default() });
    // A thread that needs a little time to ask again.
    question.members.iter_mut().for_each(|member| member.submit_s = 2e-5);
    near(weighted_jain(&run(&question).shares, &question.expected()), 1.0, 0.01);
}

#[test]
fn one_request_at_a_time_is_exact_and_slow() {
    let mut question = ladder(8, 8, 256, 31);
    let free = run(&question).iops;
    question.scheduler = Scheduler::Bfq(Bfq {
        budget: Some(64.0),
        strict: true,
        rotational: false,
        ..Bfq::default()
    });
    let strict = run(&question);
    near(weighted_jain(&strict.shares, &question.expected()), 1.0, 0.005);
    assert!(strict.iops < free / 10.0, "{} of {free}", strict.iops);
}

#[test]
fn first_come_first_served_divides_by_what_is_outstanding_and_not_by_weight() {
    let mut question = ladder(4, 8, 256, 4);
    question.scheduler = Scheduler::Fifo;
    question.members = vec![member(100.0, 4), member(800.0, 8), member(100.0, 12)];
    let found = run(&question).shares;
    for (found, expected) in found.iter().zip([4.0 / 24.0, 8.0 / 24.0, 12.0 / 24.0]) {
        near(*found, expected, 0.02);
    }
}

#[test]
fn cpus_that_are_short_limit_the_throughput_and_are_never_idle() {
    let mut question = ladder(8, 16, 256, 128);
    question.device = Device::Loop { depth: 128 };
    question.cpus = 2.0;
    question.members.iter_mut().for_each(|own| (own.submit_s, own.serve_s) = (10e-6, 30e-6));
    let found = run(&question);
    assert!(found.idle < 0.1, "{}", found.idle);
    near(found.iops, 2.0 / 40e-6, 5_000.0);
}
