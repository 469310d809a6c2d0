//! The pointer chase: a warm-up, then samples of which the minimum counts, for each working set.

use assay_load_memory::pointer_ring::{Arena, LINE, Ring};
use assay_sys::kernel::anonymous_memory::Pages;
use assay_sys::kernel::{Root, affinity, clock, signal};

use super::Chase;
use super::knee::Point;
use super::order::{self, Order, Scratch};
use crate::arguments::Shared;
use crate::caches::{self, Cache};
use crate::failure::Failure;
use crate::measured::Backing;
use crate::output::Reporter;

/// Time until the processor runs at its full clock.
const RAMP_NS: u64 = 100_000_000;
/// Reading the clock takes some 30 ns, negligible beside this many loads.
const MIN_LOADS: u64 = 100_000;
/// Seed of the orders.
const SEED: u64 = 1;

/// All curves of a run.
#[derive(Debug)]
pub(super) struct Chased {
    pub(super) cpu: u16,
    pub(super) caches: Vec<Cache>,
    pub(super) curves: Vec<(Order, Vec<Point>)>,
    /// The signal that ended it early.
    pub(super) ended_by: Option<&'static str>,
}

pub(super) fn run(
    options: &Chase,
    sizes: &[u64],
    shared: &Shared,
    root: &Root,
    reporter: &dyn Reporter,
) -> Result<(Chased, Backing), Failure> {
    signal::note_interruptions();
    let allowed = affinity::allowed_cpus(std::process::id())?;
    let cpu = match options.cpu {
        Some(cpu) => cpu,
        None => allowed.first().copied().unwrap_or(0),
    };
    affinity::bind_self(&[cpu])?;
    let lines = sizes.last().map_or(0, |largest| *largest as usize / LINE);
    let huge = shared.huge_pages.into();
    let mut arena = Arena::new(lines, huge)?;
    let mut scratch =
        Scratch { visits: Pages::zeroed(lines, huge)?, next: Pages::zeroed(lines, huge)? };
    let orders: &[Order] = if options.order.is_empty() { &[Order::Random] } else { &options.order };
    shared.ready()?;
    let mut curves = Vec::new();
    for order in orders {
        let mut points = Vec::with_capacity(sizes.len());
        for size in sizes {
            if signal::interrupted_by().is_some() {
                break;
            }
            let lines = *size as usize / LINE;
            let (visits, next) = (&mut scratch.visits[..lines], &mut scratch.next[..lines]);
            let seed = shared.seed.unwrap_or(SEED);
            order::fill(*order, options.group as usize, seed, visits, next);
            let mut ring = arena.link(next).ok_or_else(|| {
                Failure::Wrong(format!("the order of {size} bytes is not a single ring"))
            })?;
            points.push(point(&mut ring, *size, options.samples, options.sample_ms));
            reporter.progress(order.name(), points.len(), sizes.len());
        }
        curves.push((*order, points));
    }
    let chased = Chased {
        cpu,
        caches: caches::data_caches(root, cpu),
        curves,
        ended_by: signal::interrupted_by(),
    };
    Ok((chased, Backing::read(root)))
}

/// Links the first `bytes` of an arena in random order; temporary memory is freed.
pub(super) fn link<'a>(
    arena: &'a mut Arena,
    bytes: u64,
    shared: &Shared,
) -> Result<Ring<'a>, Failure> {
    let lines = bytes as usize / LINE;
    let huge = shared.huge_pages.into();
    let mut scratch =
        Scratch { visits: Pages::zeroed(lines, huge)?, next: Pages::zeroed(lines, huge)? };
    order::fill(
        Order::Random,
        1,
        shared.seed.unwrap_or(SEED),
        &mut scratch.visits,
        &mut scratch.next,
    );
    arena
        .link(&scratch.next)
        .ok_or_else(|| Failure::Wrong(format!("the order of {bytes} bytes is not a single ring")))
}

/// Measures one ring of `bytes`.
pub(super) fn point(ring: &mut Ring<'_>, bytes: u64, samples: u32, sample_ms: u32) -> Point {
    let lines = bytes / LINE as u64;
    warm(ring, lines);
    let loads = calibrate(ring, lines, u64::from(sample_ms) * 1_000_000);
    let samples: Vec<Sample> = (0..samples).map(|_| sample(ring, loads)).collect();
    let (own, wall) =
        (sorted(&samples, |sample| sample.own), sorted(&samples, |sample| sample.wall));
    Point { bytes, min_ns: own[0], median_ns: median(&own), wall_ns: median(&wall) }
}

fn sorted(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = samples.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The median of a non-empty sorted slice.
fn median(sorted: &[f64]) -> f64 {
    let median = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[median - 1], sorted[median])
    } else {
        sorted[median]
    }
}

/// Two laps to fill every cache, and long enough for the clock to rise.
fn warm(ring: &mut Ring<'_>, lines: u64) {
    let began = clock::monotonic_ns();
    ring.walk(2 * lines);
    // Only small rings need this: large ones have taken longer already.
    while clock::monotonic_ns() - began < RAMP_NS / 10 {
        ring.walk(MIN_LOADS);
    }
}

/// How many loads take as long as a sample should, at least one lap.
fn calibrate(ring: &mut Ring<'_>, lines: u64, min_ns: u64) -> u64 {
    let tried = sample(ring, MIN_LOADS);
    ((min_ns as f64 / tried.own) as u64).max(MIN_LOADS).max(lines)
}

/// Nanoseconds per load by two clocks.
struct Sample {
    /// CPU time of the thread: what the machine needs for a load.
    own: f64,
    /// Wall-clock time: includes waiting for a CPU that others use too.
    wall: f64,
}

/// Performs at least `loads` loads.
fn sample(ring: &mut Ring<'_>, loads: u64) -> Sample {
    let (wall, own) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let done = ring.walk(loads) as f64;
    let (own, wall) = (clock::thread_cpu_ns() - own, clock::monotonic_ns() - wall);
    // Avoids dividing by zero if the clock did not advance.
    Sample { own: own.max(1) as f64 / done, wall: wall.max(1) as f64 / done }
}
