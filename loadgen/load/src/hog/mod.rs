//! hog: memory usage that grows step by step, is then held, and is checked for its content.
//! docs/load/memory.md describes what is measured.

use assay_sys::kernel::anonymous_memory::{Pages, page_size};
use assay_sys::kernel::{Root, clock, signal};
use assay_sys::units::Bytes;
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::Shared;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase, format_bytes};
use crate::generator::{Finished, Generator, Report};
use crate::measured::Backing;
use crate::output::Reporter;
use crate::sleep;

const WORD: u64 = size_of::<u64>() as u64;
/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 96 << 10;

/// Command-line arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Hog {
    /// Amount of memory to grow to
    #[arg(long, value_name = "BYTES")]
    to: Bytes,
    /// Amount of each step
    #[arg(long, value_name = "BYTES", default_value = "16MiB")]
    step: Bytes,
    /// Time from the start of one step to the start of the next, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100)]
    every_ms: u64,
    /// Time to hold the full amount at the end, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    hold: f64,
    /// Touch all memory again after each step, so that none of it becomes idle
    #[arg(long)]
    again: bool,
}

/// One step of growth.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Bytes held after it.
    bytes: u64,
    /// From the start of the load to the end of the step.
    at_ns: u64,
    /// Time to write the new memory.
    grow_ns: u64,
    /// Time to touch all memory again, with `--again`.
    again_ns: Option<u64>,
}

impl Generator for Hog {
    const NAME: &'static str = "hog";
    const ABOUT: &'static str = "Memory that grows step by step, with a check of its content";

    fn footprint(&self, _: &Shared) -> Result<Footprint, Failure> {
        if self.step.get() < WORD || self.to.get() < WORD {
            return Err(Failure::usage(format!("--to and --step: must be at least {WORD} bytes")));
        }
        if !(0.0..=1e9).contains(&self.hold) {
            return Err(Failure::usage(format!("--hold {}: must be 0 seconds or more", self.hold)));
        }
        let parts = vec![("memory", self.to.get()), ("program", PROGRAM_BYTES)];
        Ok(Footprint::new(vec![Phase { name: "grown", parts }]))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        signal::note_interruptions();
        let words = (self.to.get() / WORD) as usize;
        let mut memory = Pages::zeroed(words, shared.huge_pages.into())?;
        let seed = shared.seed.unwrap_or(1);
        let began = shared.ready()?;
        let steps = self.grow(&mut memory, seed, began, reporter);
        let held = steps.last().map_or(0, |step| (step.bytes / WORD) as usize);
        if held == words {
            sleep::until(clock::monotonic_ns() + (self.hold * 1e9) as u64);
        }
        if let Some(at) = (0..held).find(|at| memory[*at] != pattern(seed, *at)) {
            return Err(Failure::Wrong(format!("byte {} has changed", at as u64 * WORD)));
        }
        let report = report(&steps, signal::interrupted_by());
        Ok(Finished { report, backing: Backing::read(&Root::real()) })
    }
}

impl Hog {
    fn grow(
        &self,
        memory: &mut [u64],
        seed: u64,
        began: u64,
        reporter: &dyn Reporter,
    ) -> Vec<Step> {
        let step = (self.step.get() / WORD) as usize;
        let all = memory.len();
        let mut steps = Vec::with_capacity(all.div_ceil(step));
        let mut held = 0;
        while held < all && signal::interrupted_by().is_none() {
            let start = clock::monotonic_ns();
            let end = (held + step).min(all);
            for (at, word) in memory.iter_mut().enumerate().take(end).skip(held) {
                *word = pattern(seed, at);
            }
            held = end;
            let grown = clock::monotonic_ns();
            let again_ns = self.again.then(|| {
                touch(&memory[..held]);
                clock::monotonic_ns() - grown
            });
            let bytes = held as u64 * WORD;
            let at_ns = clock::monotonic_ns() - began;
            steps.push(Step { bytes, at_ns, grow_ns: grown - start, again_ns });
            reporter.progress("steps", steps.len(), all.div_ceil(step));
            if held < all {
                sleep::until(start + self.every_ms * 1_000_000);
            }
        }
        steps
    }
}

/// The content of a word: incompressible, and different on every page so that no page can be
/// merged.
fn pattern(seed: u64, at: usize) -> u64 {
    let mixed = (at as u64 ^ seed.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

/// Reads a word of each page.
fn touch(memory: &[u64]) {
    let words = page_size() / size_of::<u64>();
    std::hint::black_box(memory.iter().step_by(words).fold(0, |sum: u64, word| sum ^ word));
}

fn report(steps: &[Step], ended_by: Option<&str>) -> Report {
    let milliseconds = |ns: u64| format!("{:.3}", ns as f64 * 1e-6);
    let mut text = format!("{:>10} {:>10} {:>10} {:>10}\n", "held", "at s", "grow ms", "again ms");
    for step in steps {
        text.push_str(&format!(
            "{:>10} {:>10.3} {:>10} {:>10}\n",
            format_bytes(step.bytes),
            step.at_ns as f64 * 1e-9,
            milliseconds(step.grow_ns),
            step.again_ns.map_or_else(|| "-".to_owned(), milliseconds)
        ));
    }
    let held = steps.last().map_or(0, |step| step.bytes);
    let grow_ns: u64 = steps.iter().map(|step| step.grow_ns).sum();
    let slowest = steps.iter().map(|step| step.grow_ns).max().unwrap_or(0);
    text.push_str(&format!("{} held, content verified\n", format_bytes(held)));
    let rows: Vec<Value> = steps
        .iter()
        .map(|step| {
            json!({
                "bytes": step.bytes,
                "at_s": step.at_ns as f64 * 1e-9,
                "grow_s": step.grow_ns as f64 * 1e-9,
                "again_s": step.again_ns.map(|ns| ns as f64 * 1e-9),
            })
        })
        .collect();
    let mut json = json!({
        "steps": rows,
        "validated": true,
        "metrics": {
            "held_bytes": held,
            "grow_bytes_per_s": held as f64 / (grow_ns.max(1) as f64 * 1e-9),
            "slowest_step_s": slowest as f64 * 1e-9,
        },
    });
    if let Some(signal) = ended_by {
        json["ended_by"] = signal.into();
    }
    Report { text, json }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Silence;

    fn hog(to: u64, step: u64, again: bool) -> Hog {
        Hog { to: Bytes::new(to), step: Bytes::new(step), every_ms: 0, hold: 0.0, again }
    }

    #[test]
    fn memory_grows_by_steps_and_holds_its_pattern() {
        let mut memory = vec![0; 1000];
        let steps = hog(8000, 3000, true).grow(&mut memory, 5, clock::monotonic_ns(), &Silence);
        let held: Vec<u64> = steps.iter().map(|step| step.bytes).collect();
        assert_eq!(held, [3000, 6000, 8000]);
        assert!(memory.iter().enumerate().all(|(at, word)| *word == pattern(5, at)));
        assert!(steps.iter().all(|step| step.again_ns.is_some()));
    }

    #[test]
    fn the_report_has_the_held_bytes_and_the_signal() {
        let step = Step { bytes: 1 << 20, at_ns: 2_000_000, grow_ns: 1_000_000, again_ns: None };
        let report = report(&[step], Some("SIGINT"));
        assert!(report.text.contains("1.00 MiB held"), "{}", report.text);
        assert_eq!(report.json["ended_by"], "SIGINT");
        assert_eq!(report.json["metrics"]["held_bytes"], 1 << 20);
        assert!(report.json["steps"][0]["again_s"].is_null());
    }

    #[test]
    fn neighbouring_pages_differ() {
        let page = |number: usize| -> Vec<u64> {
            (number * 512..(number + 1) * 512).map(|at| pattern(1, at)).collect()
        };
        assert_ne!(page(0), page(1));
    }
}
