//! Simple scenarios for tests.

use assay_predict::{Bfq, Device, Effort, Member, Scenario, Scheduler, Simulated, simulate};

/// A member with negligible CPU time.
pub(crate) fn member(weight: f64, depth: u32) -> Member {
    Member {
        weight,
        depth,
        bytes: 4096,
        sequential: false,
        writes: false,
        submit_s: 1e-9,
        serve_s: 0.0,
        serve_more_s: 0.0,
        hold_s: 0.0,
        delay_s: 0.0,
    }
}

/// Weights 1:2:4:8 in turn on a device that accepts `slots` requests, with a pool of `pool` tags assigned in
/// order of waiting: fair queueing request by request, without idling or caps.
pub(crate) fn ladder(groups: usize, depth: u32, pool: u32, slots: u32) -> Scenario {
    let weights = [100.0, 200.0, 400.0, 800.0];
    Scenario {
        members: (0..groups).map(|index| member(weights[index % 4], depth)).collect(),
        scheduler: Scheduler::Bfq(Bfq {
            budget: Some(8.0),
            slice_idle_s: 0.0,
            rotational: false,
            caps: false,
            ..Bfq::default()
        }),
        pool,
        device: Device::Servers { depth: slots, servers: slots, service_s: 1e-3, per_byte_s: 0.0 },
        cpus: 64.0,
        seconds: 1000.0,
    }
}

/// A long simulation.
pub(crate) fn run(scenario: &Scenario) -> Simulated {
    simulate(scenario, Effort { requests: 200_000, seconds: 100.0 }, 1)
}

/// Mean share of each of the four classes relative to the lightest.
pub(crate) fn ratio(result: &Simulated) -> [f64; 4] {
    let mut classes = [0.0; 4];
    for (index, share) in result.shares.iter().enumerate() {
        classes[index % 4] += share;
    }
    classes.map(|class| class / classes[0])
}
