//! Properties that hold for any scenario.

use assay_predict::{Bfq, Device, Effort, Member, Scenario, Scheduler, simulate};
use proptest::prelude::*;

fn members() -> impl Strategy<Value = Vec<Member>> {
    let one = (1_u32..=1000, 1_u32..=64, 0_usize..4, any::<bool>(), any::<bool>());
    prop::collection::vec(one, 1..12).prop_map(|list| {
        let member =
            |(weight, depth, size, sequential, writes): (u32, u32, usize, bool, bool)| Member {
                weight: f64::from(weight),
                depth,
                bytes: [4096, 16_384, 65_536, 262_144][size],
                sequential,
                writes,
                submit_s: 8e-6,
                serve_s: 12e-6,
                serve_more_s: 2e-6,
                hold_s: 5e-6,
                delay_s: 2e-5,
            };
        list.into_iter().map(member).collect()
    })
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let bfq = (any::<bool>(), any::<bool>(), any::<bool>(), 0_u32..3).prop_map(
        |(strict, rotational, caps, idle)| {
            Scheduler::Bfq(Bfq {
                budget: (!strict).then_some(512.0),
                slice_idle_s: f64::from(idle) * 4e-3,
                strict,
                rotational,
                caps,
                ..Bfq::default()
            })
        },
    );
    let scheduler = prop_oneof![Just(Scheduler::Fifo), bfq];
    let device = prop_oneof![
        Just(Device::Loop { depth: 128 }),
        (1_u32..64).prop_map(|depth| Device::Servers {
            depth,
            servers: depth,
            service_s: 1e-4,
            per_byte_s: 1e-9
        })
    ];
    (members(), scheduler, 4_u32..512, device, 1_u32..9).prop_map(
        |(members, scheduler, pool, device, cpus)| Scenario {
            members,
            scheduler,
            pool,
            device,
            cpus: f64::from(cpus),
            seconds: 20.0,
        },
    )
}

const SHORT: Effort = Effort { requests: 3000, seconds: 1.0 };

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_add_up_and_limits_hold(scenario in scenarios(), seed in 0_u64..1000) {
        let result = simulate(&scenario, SHORT, seed);
        prop_assert!(result.served > 0, "a closed loop never stands still: {scenario:?}");
        prop_assert!((result.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!((result.shares_of_requests.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(result.shares.iter().all(|share| (0.0..=1.0).contains(share)));
        prop_assert!((0.0..=1.0).contains(&result.idle));
        prop_assert!(result.queue <= f64::from(scenario.pool) + 1e-6);
        prop_assert!(result.in_device <= f64::from(scenario.device.depth()) + 1e-6);
        // Throughput is bounded by the number of CPUs.
        let cheapest = scenario.members.iter().map(|own| own.submit_s).fold(f64::INFINITY, f64::min);
        prop_assert!(result.iops <= 2.0 * scenario.cpus / cheapest);
    }

    #[test]
    fn the_same_scenario_and_seed_give_the_same_numbers(scenario in scenarios(), seed in 0_u64..1000) {
        prop_assert_eq!(simulate(&scenario, SHORT, seed), simulate(&scenario, SHORT, seed));
    }
}

/// Share of the second of two groups with this weight.
fn share_of_the_second(weight: f64) -> f64 {
    let member = |weight| Member {
        weight,
        depth: 16,
        bytes: 4096,
        sequential: false,
        writes: false,
        submit_s: 8e-6,
        serve_s: 12e-6,
        serve_more_s: 0.0,
        hold_s: 0.0,
        delay_s: 2e-5,
    };
    let scenario = Scenario {
        members: vec![member(100.0), member(weight)],
        scheduler: Scheduler::Bfq(Bfq { budget: Some(512.0), ..Bfq::default() }),
        pool: 256,
        device: Device::Loop { depth: 128 },
        cpus: 2.0,
        seconds: 20.0,
    };
    simulate(&scenario, Effort { requests: 60_000, seconds: 10.0 }, 1).shares[1]
}

#[test]
fn more_weight_is_never_less_share() {
    let shares: Vec<f64> = [50.0, 100.0, 200.0, 400.0, 800.0].map(share_of_the_second).to_vec();
    assert!(shares.windows(2).all(|pair| pair[0] < pair[1]), "{shares:?}");
}
