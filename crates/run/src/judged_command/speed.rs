//! How fast a CPU is: the least time that a fixed computation takes. Compared before and after a command it shows a
//! changed frequency, and a busy sibling, also in a virtual machine that shows neither.

use std::hint::black_box;
use std::thread::Builder;
use std::time::{Duration, Instant};

use assay_host::facts::Available;
use assay_sys::kernel::affinity::bind_self;
use assay_sys::units::CpuSet;

/// Steps that depend on each other. They take some tenths of a millisecond, less than a turn of the scheduler, so
/// that some of them run undisturbed on a busy CPU, too.
const STEPS: u64 = 100_000;

/// It ends when the least time was not lowered for this long, by which a CPU has left its power saving, ...
const SETTLED: Duration = Duration::from_millis(20);

/// ... and after this time at the latest.
const LONGEST: Duration = Duration::from_millis(200);

/// The least time on the first of these CPUs, in seconds.
pub(super) fn speed(cpus: &CpuSet) -> Available<f64> {
    let Some(cpu) = cpus.iter().next() else {
        return Available::NotAvailable("no CPU is known".to_owned());
    };
    // In a thread of its own, since the binding stays with it.
    let thread = match Builder::new().spawn(move || bind_self(&[cpu]).map(|()| least_time())) {
        Ok(thread) => thread,
        Err(cause) => return Available::NotAvailable(format!("cannot start a thread: {cause}")),
    };
    match thread.join() {
        Ok(Ok(time)) => Available::Value(time.as_secs_f64()),
        Ok(Err(error)) => Available::NotAvailable(error.to_string()),
        Err(_) => Available::NotAvailable("the computation did not end".to_owned()),
    }
}

fn least_time() -> Duration {
    let begun = Instant::now();
    let (mut least, mut lowered) = (Duration::MAX, begun);
    while lowered.elapsed() < SETTLED && begun.elapsed() < LONGEST {
        let from = Instant::now();
        black_box(compute(black_box(STEPS)));
        let took = from.elapsed();
        // Less than a percent is noise of the clock.
        if took.as_secs_f64() < 0.99 * least.as_secs_f64() {
            lowered = Instant::now();
        }
        least = least.min(took);
    }
    least
}

/// Multiplications that each need the one before.
fn compute(steps: u64) -> u64 {
    (0..steps).fold(1, |value: u64, step| value.wrapping_mul(6_364_136_223_846_793_005) ^ step)
}
