//! spin: CPU time and nothing else. Every thread multiplies in registers until the time is up, and
//! says how much it got done. What is measured stands in docs/load/compute.md.

mod sequence;

use assay_kernel::{Root, clock, signal};
use clap::Args;
use serde_json::json;

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase};
use crate::generator::{Finished, Generator, Report};
use crate::measured::Backing;
use crate::output::Reporter;
use crate::parallel_region::ParallelRegion;
use sequence::Sequence;

/// Steps between two looks at the clock: some 50 microseconds.
const CHUNK: u64 = 1 << 15;
/// A thread's stack, as far as it is touched.
const THREAD: u64 = 24 << 10;
/// Code and data of the program that are touched only when it works.
const PROGRAM: u64 = 96 << 10;

/// Arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Spin {
    /// How long, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    time: f64,
}

/// What one thread has done.
#[derive(Debug, Clone, Copy)]
struct Share {
    steps: u64,
    cpu_ns: u64,
    wall_ns: u64,
    /// Whether the end of its sequence is where that many steps lead.
    is_right: bool,
}

impl Generator for Spin {
    const NAME: &'static str = "spin";
    const ABOUT: &'static str =
        "Threads that use their CPUs and nothing else, and count what they get done";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        if !(self.time > 0.0 && self.time <= 1e9) {
            return Err(Failure::usage(format!("--time {}: seconds, more than 0", self.time)));
        }
        let threads = THREAD * shared.workers() as u64;
        let parts = vec![("threads", threads), ("program", PROGRAM)];
        Ok(Footprint::of_phases(vec![Phase { name: "spin", parts }]))
    }

    fn run(&self, shared: &Shared, _: &dyn Reporter) -> Result<Finished, Failure> {
        signal::note_interruptions();
        let team = ParallelRegion::of(shared.workers());
        let seed = shared.seed.unwrap_or(1);
        let began = shared.ready()?;
        let end = began + (self.time * 1e9) as u64;
        let shares = team.run(|worker| spin(seed.wrapping_add(worker.id as u64), end));
        if let Some(wrong) = shares.iter().position(|share| !share.is_right) {
            return Err(Failure::Wrong(format!("thread {wrong} has computed a wrong number")));
        }
        Ok(Finished { report: report(&shares), backing: Backing::read(&Root::real()) })
    }
}

fn spin(seed: u64, end: u64) -> Share {
    let (wall, cpu) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let mut sequence = Sequence::of(seed);
    let mut steps = 0;
    while clock::monotonic_ns() < end && signal::interrupted_by().is_none() {
        sequence.walk(CHUNK);
        steps += CHUNK;
    }
    let (cpu_ns, wall_ns) = (clock::thread_cpu_ns() - cpu, clock::monotonic_ns() - wall);
    Share { steps, cpu_ns, wall_ns, is_right: sequence == Sequence::of(seed).after(steps) }
}

fn report(shares: &[Share]) -> Report {
    let mut text = format!("{:>6} {:>16} {:>10} {:>10}\n", "thread", "steps", "CPU s", "wall s");
    for (number, share) in shares.iter().enumerate() {
        let (cpu, wall) = (seconds(share.cpu_ns), seconds(share.wall_ns));
        text.push_str(&format!("{number:>6} {:>16} {cpu:>10.3} {wall:>10.3}\n", share.steps));
    }
    let steps: u64 = shares.iter().map(|share| share.steps).sum();
    let cpu = seconds(shares.iter().map(|share| share.cpu_ns).sum());
    let wall = seconds(shares.iter().map(|share| share.wall_ns).max().unwrap_or(0));
    let (rate, per_cpu) = (steps as f64 / wall, steps as f64 / cpu);
    text.push_str(&format!(
        "{steps} steps in {wall:.3} s: {rate:.4e} a second, {per_cpu:.4e} a second of CPU time, \
         {:.3} CPUs\n",
        cpu / wall
    ));
    let threads: Vec<_> = shares
        .iter()
        .map(|share| {
            json!({
                "steps": share.steps,
                "cpu_s": seconds(share.cpu_ns),
                "wall_s": seconds(share.wall_ns),
            })
        })
        .collect();
    let mut json = json!({
        "threads": threads,
        "validated": true,
        "metrics": {
            "steps_per_s": rate,
            "steps_per_cpu_s": per_cpu,
            "cpu_s": cpu,
            "wall_s": wall,
            "cpus": cpu / wall,
        },
    });
    if let Some(signal) = signal::interrupted_by() {
        json["ended_by"] = signal.into();
    }
    Report { text, json }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_lasts_as_long_as_it_was_to_and_is_checked() {
        let began = clock::monotonic_ns();
        let share = spin(7, began + 30_000_000);
        assert!(share.is_right && share.steps > 0, "{share:?}");
        assert!(share.wall_ns >= 29_000_000, "{share:?}");
        assert!(share.cpu_ns <= share.wall_ns + 1_000_000, "{share:?}");
    }

    #[test]
    fn the_report_adds_threads_up_and_divides_by_the_longest() {
        let share =
            Share { steps: 500, cpu_ns: 250_000_000, wall_ns: 1_000_000_000, is_right: true };
        let report = report(&[share, share]);
        let metrics = &report.json["metrics"];
        assert_eq!(metrics["steps_per_s"], 1000.0);
        assert_eq!(metrics["steps_per_cpu_s"], 2000.0);
        assert_eq!(metrics["cpus"], 0.5);
    }
}
