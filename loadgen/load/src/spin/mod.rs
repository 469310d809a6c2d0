//! spin: CPU time only. Every thread multiplies in registers until the time is up, and counts its
//! steps. docs/load/compute.md describes what is measured.

mod sequence;

use assay_sys::kernel::{Root, clock, signal};
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

/// Steps between two checks of the clock: some 50 microseconds.
const CHUNK: u64 = 1 << 15;
/// Touched part of a thread's stack.
const THREAD_BYTES: u64 = 24 << 10;
/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 96 << 10;

/// Command-line arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Spin {
    /// Duration in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    time: f64,
}

/// Result of one thread.
#[derive(Debug, Clone, Copy)]
struct ThreadResult {
    steps: u64,
    cpu_ns: u64,
    wall_ns: u64,
    /// Whether the final state matches that number of steps.
    is_right: bool,
}

impl Generator for Spin {
    const NAME: &'static str = "spin";
    const ABOUT: &'static str = "Threads that only use CPU time, and count their work";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        if !(self.time > 0.0 && self.time <= 1e9) {
            return Err(Failure::usage(format!(
                "--time {}: must be more than 0 seconds",
                self.time
            )));
        }
        let threads = THREAD_BYTES * shared.workers() as u64;
        let parts = vec![("threads", threads), ("program", PROGRAM_BYTES)];
        Ok(Footprint::new(vec![Phase { name: "spin", parts }]))
    }

    fn run(&self, shared: &Shared, _: &dyn Reporter) -> Result<Finished, Failure> {
        signal::note_interruptions();
        let region = ParallelRegion::new(shared.workers());
        let seed = shared.seed.unwrap_or(1);
        let began = shared.ready()?;
        let end = began + (self.time * 1e9) as u64;
        let shares = region.run(|worker| spin(seed.wrapping_add(worker.id as u64), end));
        if let Some(wrong) = shares.iter().position(|share| !share.is_right) {
            return Err(Failure::Wrong(format!("thread {wrong} computed a wrong result")));
        }
        Ok(Finished { report: report(&shares), backing: Backing::read(&Root::real()) })
    }
}

fn spin(seed: u64, end: u64) -> ThreadResult {
    let (wall, cpu) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let mut sequence = Sequence::from_seed(seed);
    let mut steps = 0;
    while clock::monotonic_ns() < end && signal::interrupted_by().is_none() {
        sequence.walk(CHUNK);
        steps += CHUNK;
        // QEMU, which emulates CPUs in turns, goes on with the next one here.
        std::hint::spin_loop();
    }
    let (cpu_ns, wall_ns) = (clock::thread_cpu_ns() - cpu, clock::monotonic_ns() - wall);
    ThreadResult {
        steps,
        cpu_ns,
        wall_ns,
        is_right: sequence == Sequence::from_seed(seed).after(steps),
    }
}

fn report(shares: &[ThreadResult]) -> Report {
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
        "{steps} steps in {wall:.3} s: {rate:.4e} per second, {per_cpu:.4e} per second of CPU time, \
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
    fn a_spin_lasts_for_its_duration_and_is_verified() {
        let began = clock::monotonic_ns();
        let share = spin(7, began + 30_000_000);
        assert!(share.is_right && share.steps > 0, "{share:?}");
        assert!(share.wall_ns >= 29_000_000, "{share:?}");
        assert!(share.cpu_ns <= share.wall_ns + 1_000_000, "{share:?}");
    }

    #[test]
    fn the_report_adds_threads_up_and_divides_by_the_longest() {
        let share = ThreadResult {
            steps: 500,
            cpu_ns: 250_000_000,
            wall_ns: 1_000_000_000,
            is_right: true,
        };
        let report = report(&[share, share]);
        let metrics = &report.json["metrics"];
        assert_eq!(metrics["steps_per_s"], 1000.0);
        assert_eq!(metrics["steps_per_cpu_s"], 2000.0);
        assert_eq!(metrics["cpus"], 0.5);
    }
}
