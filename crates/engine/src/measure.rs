//! The window: all workloads run, the sampler samples, nothing else happens.

use std::time::Duration;

use assay_facts::Available;
use assay_kernel::clock::monotonic_ns;
use assay_plan::Trial;
use assay_sample::FirstIo;

use crate::gate::{Gate, Release};
use crate::processes::{Process, pause};
use crate::watch::Watch;

/// What the window was.
pub(crate) struct Window {
    pub(crate) release: Release,
    pub(crate) stopped_ns: u64,
    pub(crate) start_skew_s: Available<f64>,
    pub(crate) interrupted: bool,
}

/// How long the first I/O of every group is watched for.
const FIRST_IO: Duration = Duration::from_millis(250);

/// Releases the workloads and waits until the window has passed, a workload has done all it had
/// to do, `enough` has been seen, or the user asks to stop. `tell` hears how much has passed. A workload that fails does not end the window: the data of
/// the other groups is kept.
pub(crate) fn measure(
    trial: &Trial,
    gate: &Gate,
    first_io: FirstIo,
    processes: &mut [Process],
    watch: &mut Watch,
    tell: &mut dyn FnMut(Duration),
    enough: &mut dyn FnMut(Release, u64) -> bool,
) -> Window {
    let (release, skew) = gate.release(|| first_io.skew(FIRST_IO));
    let start_skew_s = match skew {
        Ok(seconds) => Available::Value(seconds),
        Err(reason) => Available::NotAvailable(reason),
    };
    let mut interrupted = false;
    let end_ns = release.last_ns + u64::try_from(trial.at_most.as_nanos()).unwrap_or(u64::MAX / 2);
    let stopped_ns = loop {
        let now = monotonic_ns();
        tell(Duration::from_nanos(now - release.last_ns));
        let mut any_running = false;
        let mut any_done = false;
        for process in &mut *processes {
            let is_running = process.is_running();
            any_running |= is_running;
            any_done |= !is_running && !process.has_failed();
        }
        if now >= end_ns || interrupted || any_done || !any_running {
            break now.min(end_ns);
        }
        watch.look_if_due();
        if enough(release, now) {
            break monotonic_ns().min(end_ns);
        }
        let left = Duration::from_nanos(end_ns - now);
        interrupted = pause(left.min(Duration::from_millis(50)));
    };
    Window { release, stopped_ns, start_skew_s, interrupted }
}
