//! bandwidth: memory throughput of simple loops by STREAM's definitions, and from each node to
//! each. docs/load/memory.md describes what is measured and how.

mod check;
mod kernels;
mod matrix;
mod measure;
mod output;
mod times;

use assay_load_memory::streaming_stores;
use assay_sys::kernel::{Root, affinity, signal};
use assay_sys::units::Bytes;
use clap::Args;

use crate::arguments::Shared;
use crate::caches;
use crate::chase;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase};
use crate::generator::{Finished, Generator};
use crate::measured::Backing;
use crate::output::Reporter;
use kernels::{Kernel, Stores};
use matrix::Nodes;
use measure::{Arrays, Job};

/// Array size as a multiple of all last-level caches together: STREAM's rule.
const CACHE_MULTIPLE: u64 = 4;
/// A million elements, STREAM's other rule.
const MIN_ARRAY: u64 = 8_000_000;
/// Assumed last-level cache if the kernel reports none.
const UNKNOWN_CACHE: u64 = 64 << 20;
/// Touched part of a thread's stack.
const THREAD_BYTES: u64 = 24 << 10;
/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 128 << 10;

/// Command-line arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Bandwidth {
    /// Size of each of the three arrays [default: four times the last caches, at least 8 MB]
    #[arg(long, value_name = "BYTES")]
    array: Option<Bytes>,
    /// Rounds; the first does not count
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(2..))]
    repeats: u64,
    /// Run for this many seconds instead of a number of rounds
    #[arg(long, value_name = "SECONDS", conflicts_with = "repeats")]
    time: Option<f64>,
    /// Only these loops; may be repeated [default: all four]
    #[arg(long, value_enum)]
    kernel: Vec<Kernel>,
    /// How results are stored
    #[arg(long, value_enum, default_value_t = Stores::Cached)]
    stores: Stores,
    /// Bind each thread to its own CPU
    #[arg(long)]
    pin: bool,
    /// Also measure reads and latency from each node's CPUs to each node's memory
    #[arg(long)]
    matrix: bool,
}

impl Bandwidth {
    fn job(&self, root: &Root) -> Result<Job, Failure> {
        if let Some(time) = self.time.filter(|time| !(*time > 0.0 && *time <= 1e9)) {
            return Err(Failure::usage(format!("--time {time}: must be more than 0 seconds")));
        }
        let bytes = self.array.map_or_else(|| default_array(root), |array| Ok(array.get()))?;
        if bytes < 64 {
            return Err(Failure::usage(format!("--array {bytes}: must be at least 64 bytes")));
        }
        if let (Stores::Streaming, Some(reason)) = (self.stores, streaming_stores::not_available())
        {
            return Err(Failure::Unable {
                what: format!("--stores streaming: {reason}"),
                remedy: "leave it out".to_owned(),
            });
        }
        let is_selected = |kernel: &Kernel| self.kernel.is_empty() || self.kernel.contains(kernel);
        Ok(Job {
            kernels: Kernel::ALL.into_iter().filter(is_selected).collect(),
            stores: self.stores,
            items: bytes as usize / size_of::<f64>(),
            repeats: self.repeats,
            for_ns: self.time.map(|seconds| (seconds * 1e9) as u64),
            pin: self.pin,
        })
    }

    /// The nodes of the matrix, or why there is none.
    fn nodes(&self, root: &Root) -> Result<Nodes, String> {
        if !self.matrix {
            return Err(matrix::NOT_REQUESTED.to_owned());
        }
        let allowed =
            affinity::allowed_cpus(std::process::id()).map_err(|error| error.to_string())?;
        Nodes::read(root, &allowed)
    }
}

fn default_array(root: &Root) -> Result<u64, Failure> {
    let caches = caches::last_level_bytes(root, &affinity::allowed_cpus(std::process::id())?);
    let caches = if caches == 0 { UNKNOWN_CACHE } else { caches };
    Ok((CACHE_MULTIPLE * caches).max(MIN_ARRAY))
}

impl Generator for Bandwidth {
    const NAME: &'static str = "bandwidth";
    const ABOUT: &'static str =
        "Copy, scale, add and triad over arrays beyond the last cache, as STREAM defines them";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        let root = Root::real();
        let array = (self.job(&root)?.items * size_of::<f64>()) as u64;
        let threads = THREAD_BYTES * shared.workers() as u64;
        let parts = vec![("arrays", 3 * array), ("threads", threads), ("program", PROGRAM_BYTES)];
        let mut phases = vec![Phase { name: "loops", parts }];
        if self.nodes(&root).is_ok() {
            let parts = vec![
                ("lines", array),
                ("order", chase::linking_bytes(array)),
                ("program", PROGRAM_BYTES),
            ];
            phases.push(Phase { name: "matrix", parts });
        }
        Ok(Footprint::new(phases))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        signal::note_interruptions();
        let root = Root::real();
        let job = self.job(&root)?;
        let mut arrays = Arrays::new(job.items, shared)?;
        let streamed = measure::run(&job, &mut arrays, shared, reporter)?;
        let backing = Backing::read(&root);
        drop(arrays);
        if streamed.error.is_nan() || streamed.error > check::TOLERANCE {
            return Err(Failure::Wrong(format!(
                "the arrays do not hold the expected values: mean relative error {:e}, \
                 at most {:e} is allowed",
                streamed.error,
                check::TOLERANCE
            )));
        }
        let bytes = (job.items * size_of::<f64>()) as u64;
        let matrix = match streamed.ended_by {
            Some(signal) => Err(format!("ended early by {signal}")),
            None => self.nodes(&root).map(|nodes| matrix::measure(&nodes, bytes, shared, reporter)),
        };
        Ok(Finished { report: output::report(&job, &streamed, &matrix), backing })
    }
}
