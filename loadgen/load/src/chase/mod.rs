//! chase: dependent loads through growing working sets, beyond the size of any cache.
//! docs/load/memory.md describes what is measured and how.

mod capacity;
mod knee;
mod ladder;
mod measure;
mod order;
mod output;

use assay_load_memory::pointer_ring::{Arena, Ring};
use assay_sys::kernel::Root;
use assay_sys::units::Bytes;
use clap::Args;

use crate::arguments::Shared;
use crate::caches;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase};
use crate::generator::{Finished, Generator};
use crate::output::Reporter;
use order::Order;

/// Largest working set if no cache size is known.
const UNKNOWN_CACHES: u64 = 256 << 20;
/// Largest working set as a multiple of the last cache.
const CACHE_MULTIPLE: u64 = 4;

/// Command-line arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Chase {
    /// Order in which lines follow each other; may be repeated [default: random]
    #[arg(long, value_enum)]
    order: Vec<Order>,
    /// The smallest working set
    #[arg(long, value_name = "BYTES", default_value = "4KiB")]
    from: Bytes,
    /// The largest working set [default: four times the last cache]
    #[arg(long, value_name = "BYTES")]
    to: Option<Bytes>,
    /// Working sets per power of two
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=16))]
    points: u32,
    /// Samples of each working set; the minimum counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    samples: u32,
    /// Minimum length of a sample in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=60_000))]
    sample_ms: u32,
    /// Pages of 4 KiB per group in the order `groups`
    #[arg(long, value_name = "PAGES", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    group: u32,
    /// CPU to run on [default: the first that this process may use]
    #[arg(long, value_name = "N")]
    cpu: Option<u16>,
}

/// Memory used by the order of a random ring of `bytes` while it is linked.
pub(crate) fn linking_bytes(bytes: u64) -> u64 {
    order::bytes(bytes)
}

/// The first `bytes` of an arena as one random ring (see docs/load/memory.md).
pub(crate) fn random_ring<'a>(
    arena: &'a mut Arena,
    bytes: u64,
    shared: &Shared,
) -> Result<Ring<'a>, Failure> {
    measure::link(arena, bytes, shared)
}

/// Minimum nanoseconds per load of a ring of `bytes`, without other load.
pub(crate) fn min_ns(ring: &mut Ring<'_>, bytes: u64) -> f64 {
    measure::point(ring, bytes, 5, 20).min_ns
}

impl Chase {
    /// The working sets in bytes, ascending.
    fn sizes(&self, root: &Root) -> Result<Vec<u64>, Failure> {
        let last = caches::data_caches(root, self.cpu.unwrap_or(0)).last().map(|cache| cache.bytes);
        let to =
            self.to.map_or(last.map_or(UNKNOWN_CACHES, |last| CACHE_MULTIPLE * last), Bytes::get);
        ladder::sizes(self.from.get(), to, self.points).ok_or_else(|| {
            Failure::usage(format!(
                "no working set from {} to {to} bytes: sizes are multiples of 4096 bytes",
                self.from
            ))
        })
    }
}

impl Generator for Chase {
    const NAME: &'static str = "chase";
    const ABOUT: &'static str =
        "Dependent loads through working sets from the first cache to memory";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        if shared.threads.is_some_and(|threads| threads > 1) {
            return Err(Failure::usage(
                "a chase has one thread; run several, each with its own --cpu",
            ));
        }
        let largest = self.sizes(&Root::real())?.last().copied().unwrap_or(0);
        let parts =
            vec![("lines", largest), ("order", order::bytes(largest)), ("program", PROGRAM_BYTES)];
        Ok(Footprint::new(vec![Phase { name: "chase", parts }]))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        let root = Root::real();
        let sizes = self.sizes(&root)?;
        let (chased, backing) = measure::run(self, &sizes, shared, &root, reporter)?;
        Ok(Finished { report: output::report(&chased), backing })
    }
}

/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 96 << 10;
