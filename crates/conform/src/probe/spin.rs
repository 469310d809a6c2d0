//! `spin threads=N cpu=LIST duty=PERCENT turn_ms=N start_cpu=N`: threads that use a CPU all or part
//! of the time. With `start_cpu` they start on that CPU and may then run anywhere in their cpuset.

use std::hint::black_box;
use std::io::Write;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use assay_sys::kernel::{affinity, clock};

use super::{Arguments, print};

/// Default period of a thread that is busy part of the time, in milliseconds.
const PERIOD_MS: u64 = 10;

/// Prints `thread TID` for each thread, after `ready`.
pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    arguments.bind()?;
    let threads: usize = arguments.number("threads", 1)?;
    let duty: u32 = arguments.number("duty", 100)?;
    let period = Duration::from_millis(arguments.number("turn_ms", PERIOD_MS)?);
    let start_cpu = arguments.numbers::<u16>("start_cpu")?;
    let end = Instant::now() + arguments.lifetime()?;
    let (born, ids) = channel();
    let running: Vec<_> = (0..threads)
        .map(|_| {
            let (born, start_cpu) = (born.clone(), start_cpu.clone());
            thread::Builder::new().spawn(move || {
                // The start CPU is part of a case's setup; a refusal shows in its result.
                let _ = start_on(&start_cpu);
                let _ = born.send(rustix::thread::gettid().as_raw_nonzero().get());
                spin_until(end, duty, period);
            })
        })
        .collect::<Result<_, std::io::Error>>()
        .map_err(|cause| format!("cannot start a thread: {cause}"))?;
    print(out, "ready")?;
    for id in ids.iter().take(threads) {
        print(out, &format!("thread {id}"))?;
    }
    for thread in running {
        // A thread cannot panic here; if one did, the others would continue.
        let _ = thread.join();
    }
    Ok(())
}

/// Binds to these CPUs, then lifts the binding.
fn start_on(cpus: &[u16]) -> Result<(), assay_sys::kernel::Error> {
    if cpus.is_empty() {
        return Ok(());
    }
    affinity::bind_self(cpus)?;
    affinity::bind_self(&(0..1024).collect::<Vec<u16>>())
}

fn spin_until(end: Instant, duty: u32, period: Duration) {
    let busy =
        u64::try_from(period.as_nanos()).unwrap_or(u64::MAX) / 100 * u64::from(duty.min(100));
    while Instant::now() < end {
        let period_start = Instant::now();
        // CPU time, so that a delayed thread still does its full work.
        let until = clock::thread_cpu_ns() + busy;
        while clock::thread_cpu_ns() < until && Instant::now() < end {
            work();
        }
        if duty < 100 {
            thread::sleep(period.saturating_sub(period_start.elapsed()));
        }
    }
}

/// A few microseconds of arithmetic that the compiler must not remove.
fn work() {
    let mut sum = 0_u64;
    for number in 0..2_000_u64 {
        sum = black_box(sum.wrapping_mul(31).wrapping_add(number));
    }
}
