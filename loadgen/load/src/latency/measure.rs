//! The run: the victim measures its latency while the load of the aggressors varies.

use assay_load_memory::pointer_ring::{Arena, LINE, Ring};
use assay_sys::kernel::anonymous_memory::Pages;
use assay_sys::kernel::{Root, affinity, clock, signal};

use super::curve::{Point, Sample};
use super::pressure::{Pressure, Traffic, fill};
use crate::arguments::Shared;
use crate::chase;
use crate::failure::Failure;
use crate::measured::Backing;
use crate::output::Reporter;
use crate::parallel_region::{ParallelRegion, cut};

/// Loads between two checks of the clock.
const CHUNK: u64 = 4096;
/// Time between a new setting of the aggressors and its measurement.
const SETTLE_NS: u64 = 20_000_000;

/// Parameters of a run.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The victim's CPU first, then one for each aggressor.
    pub(super) cpus: Vec<u16>,
    pub(super) delays: Vec<u64>,
    pub(super) traffic: Traffic,
    /// Working set of the victim in bytes.
    pub(super) size: u64,
    /// Memory of all aggressors in bytes.
    pub(super) load: u64,
    pub(super) samples: u32,
    pub(super) sample_ns: u64,
}

/// Results of a run.
#[derive(Debug)]
pub(super) struct Curve {
    /// The first one without aggressors, then one for each delay.
    pub(super) points: Vec<Point>,
    /// The signal that ended it early.
    pub(super) ended_by: Option<&'static str>,
}

pub(super) fn run(
    job: &Job,
    shared: &Shared,
    root: &Root,
    reporter: &dyn Reporter,
) -> Result<(Curve, Backing), Failure> {
    affinity::bind_self(&job.cpus[..1])?;
    let huge = shared.huge_pages.into();
    let mut arena = Arena::new(job.size as usize / LINE, huge)?;
    let mut ring = chase::random_ring(&mut arena, job.size, shared)?;
    let mut memory = Pages::<u64>::zeroed(job.load as usize / size_of::<u64>(), huge)?;
    let aggressors = job.cpus.len() - 1;
    let pressure = Pressure::new(aggressors);
    let shares = ParallelRegion::new(aggressors).shares(memory.len());
    // The victim is worker 0 and has no part.
    let mut parts = vec![(None, &mut [][..])];
    parts.extend(cut(&mut memory, &shares).into_iter().map(|part| (None, part)));
    parts[0].0 = Some(&mut ring);
    let results =
        ParallelRegion::new(job.cpus.len()).each(parts, |worker, (ring, part)| match ring {
            Some(ring) => {
                worker.wait();
                let points = shared.ready().map(|_| curve(job, ring, &pressure, reporter));
                pressure.stop();
                Part::Victim(points)
            }
            None => {
                let bound = affinity::bind_self(&[job.cpus[worker.id]]);
                fill(job.traffic, part);
                worker.wait();
                Part::Aggressor(bound, pressure.press(worker.id - 1, job.traffic, part))
            }
        });
    let backing = Backing::read(root);
    let mut points = Vec::new();
    for part in results {
        match part {
            Part::Victim(measured) => points = measured?,
            Part::Aggressor(bound, is_right) => {
                bound?;
                if !is_right {
                    let what = "an aggressor read or copied wrong data";
                    return Err(Failure::Wrong(what.to_owned()));
                }
            }
        }
    }
    Ok((Curve { points, ended_by: signal::interrupted_by() }, backing))
}

/// The return value of a worker.
enum Part {
    Victim(Result<Vec<Point>, Failure>),
    /// Whether the aggressor was on its CPU, and whether its data were right.
    Aggressor(Result<(), assay_sys::kernel::Error>, bool),
}

/// Measures all points, starting with idle aggressors.
fn curve(
    job: &Job,
    ring: &mut Ring<'_>,
    pressure: &Pressure,
    reporter: &dyn Reporter,
) -> Vec<Point> {
    // One lap to fill the caches.
    ring.walk(job.size / LINE as u64);
    let settings = std::iter::once(None).chain(job.delays.iter().copied().map(Some));
    let mut points = Vec::with_capacity(job.delays.len() + 1);
    for delay in settings {
        if signal::interrupted_by().is_some() {
            break;
        }
        pressure.set(delay);
        sample(ring, pressure, SETTLE_NS);
        let samples: Vec<Sample> =
            (0..job.samples).map(|_| sample(ring, pressure, job.sample_ns)).collect();
        points.push(Point::from_samples(delay, &samples));
        reporter.progress("points", points.len(), job.delays.len() + 1);
    }
    points
}

/// Chases for the given time.
fn sample(ring: &mut Ring<'_>, pressure: &Pressure, length: u64) -> Sample {
    let (bytes, own, began) = (pressure.bytes(), clock::thread_cpu_ns(), clock::monotonic_ns());
    let mut loads = 0;
    let wall = loop {
        loads += ring.walk(CHUNK);
        let wall = clock::monotonic_ns() - began;
        if wall >= length {
            break wall as f64;
        }
    };
    // Avoids dividing by zero if the clock did not advance.
    let own = (clock::thread_cpu_ns() - own).max(1) as f64;
    let bytes = (pressure.bytes() - bytes) as f64;
    let loads = loads as f64;
    Sample { own_ns: own / loads, wall_ns: wall / loads, bytes_per_s: bytes / (wall * 1e-9) }
}
