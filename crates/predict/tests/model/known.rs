//! Measured runs on a quiet host of two CPUs to which the model was fitted: it must keep reproducing them.
//! They do not show how well it predicts other runs.

use assay_predict::{Bfq, Cost, Device, Effort, RequestKind, Scenario, Scheduler, simulate};

/// A measured run: weights 1:2:4:8 in turn, a budget of 512 sectors, requests of 4 KiB.
struct Known {
    groups: usize,
    depth: u32,
    pool: u32,
    /// Sequential reads and writes; otherwise random reads.
    sequential: bool,
    /// Each class's share relative to its expected share, the mean over its groups.
    measured: [f64; 4],
}

const fn random(groups: usize, depth: u32, pool: u32, measured: [f64; 4]) -> Known {
    Known { groups, depth, pool, sequential: false, measured }
}

const fn mixed(groups: usize, depth: u32, pool: u32, measured: [f64; 4]) -> Known {
    Known { groups, depth, pool, sequential: true, measured }
}

const RUNS: [Known; 13] = [
    random(8, 8, 256, [1.0, 1.0, 1.0, 1.0]),
    random(8, 8, 1024, [0.99, 1.04, 0.99, 0.99]),
    random(8, 32, 256, [0.63, 0.58, 1.13, 1.09]),
    random(8, 32, 256, [0.85, 0.78, 1.05, 1.05]),
    random(8, 32, 1024, [1.0, 1.0, 1.0, 1.0]),
    random(16, 8, 256, [0.61, 1.05, 1.05, 1.01]),
    random(16, 8, 1024, [1.0, 1.0, 1.0, 1.0]),
    random(16, 32, 256, [0.56, 0.57, 0.58, 1.37]),
    random(16, 32, 1024, [0.56, 1.07, 1.03, 1.02]),
    mixed(4, 32, 1024, [0.98, 0.98, 1.07, 0.97]),
    mixed(16, 32, 1024, [0.86, 0.81, 1.05, 1.04]),
    mixed(32, 32, 1024, [0.85, 0.77, 0.88, 1.15]),
    mixed(16, 32, 256, [1.13, 1.03, 0.94, 1.01]),
];

impl Known {
    fn predicted(&self) -> [f64; 4] {
        let cost = Cost {
            submit_s: 9e-6,
            submit_byte_s: 0.0,
            serve_s: 9e-6,
            serve_byte_s: 0.0,
            serve_more_s: 4e-6,
            hold_s: 16e-6,
            hold_byte_s: 0.0,
            delay_s: 15e-6,
        };
        let kind = RequestKind { writes: self.sequential, sequential: self.sequential };
        let weights = [100.0, 200.0, 400.0, 800.0];
        let member = |index: usize| cost.member(weights[index % 4], self.depth, 4096, kind);
        let scenario = Scenario {
            members: (0..self.groups).map(member).collect(),
            scheduler: Scheduler::Bfq(Bfq { budget: Some(512.0), ..Bfq::default() }),
            pool: self.pool,
            device: Device::Loop { depth: 128 },
            cpus: 2.0,
            seconds: 11.0,
        };
        let simulated = simulate(&scenario, Effort { requests: 200_000, seconds: 11.0 }, 1);
        let expected = scenario.expected();
        let mut classes = [0.0; 4];
        for (index, (share, owed)) in simulated.shares.iter().zip(&expected).enumerate() {
            classes[index % 4] += share / owed * 4.0 / self.groups as f64;
        }
        eprintln!(
            "{} groups, depth {}, pool {}: {:.0} iops, idle {:.2}, queue {:.0}: {classes:.2?} for {:?}",
            self.groups,
            self.depth,
            self.pool,
            simulated.iops,
            simulated.idle,
            simulated.queue,
            self.measured
        );
        classes
    }
}

#[test]
fn the_runs_that_the_model_was_fitted_to_are_reproduced() {
    let mut errors = Vec::new();
    for run in &RUNS {
        for (predicted, measured) in run.predicted().iter().zip(run.measured) {
            errors.push((predicted / measured - 1.0).abs());
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(mean < 0.06, "mean error of a class {mean:.3}");
}
