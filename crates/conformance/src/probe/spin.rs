//! `spin threads=N cpu=LIST duty=PERCENT turn_ms=N start_cpu=N`: threads that use a CPU all the
//! time, or a part of it. With `start_cpu` they begin on that CPU and may then go anywhere that
//! their cpuset allows.

use std::hint::black_box;
use std::io::Write;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use assay_kernel::{affinity, clock};

use super::{Words, life, say};

/// A thread that is busy for a part of the time works and sleeps in turns of this length, in
/// milliseconds, unless told otherwise.
const TURN_MS: u64 = 10;

/// Says `thread TID` for each thread, after `ready`.
pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let cpus = words.numbers::<u16>("cpu")?;
    if !cpus.is_empty() {
        affinity::bind_self(&cpus).map_err(|error| error.to_string())?;
    }
    let threads: usize = words.number("threads", 1)?;
    let duty: u32 = words.number("duty", 100)?;
    let turn = Duration::from_millis(words.number("turn_ms", TURN_MS)?);
    let start_cpu = words.numbers::<u16>("start_cpu")?;
    let end = Instant::now() + life(words)?;
    let (born, ids) = channel();
    let running: Vec<_> = (0..threads)
        .map(|_| {
            let (born, start_cpu) = (born.clone(), start_cpu.clone());
            thread::spawn(move || {
                // Where it begins is part of what a case sets up; a refusal shows in what it sees.
                let _ = begin_on(&start_cpu);
                let _ = born.send(rustix::thread::gettid().as_raw_nonzero().get());
                spin_until(end, duty, turn);
            })
        })
        .collect();
    say(out, "ready")?;
    for id in ids.iter().take(threads) {
        say(out, &format!("thread {id}"))?;
    }
    for thread in running {
        // A thread cannot panic here; were it to, the others go on.
        let _ = thread.join();
    }
    Ok(())
}

/// Goes to these CPUs, then lets go of them again.
fn begin_on(cpus: &[u16]) -> Result<(), assay_kernel::Error> {
    if cpus.is_empty() {
        return Ok(());
    }
    affinity::bind_self(cpus)?;
    affinity::bind_self(&(0..1024).collect::<Vec<u16>>())
}

fn spin_until(end: Instant, duty: u32, length: Duration) {
    let busy =
        u64::try_from(length.as_nanos()).unwrap_or(u64::MAX) / 100 * u64::from(duty.min(100));
    while Instant::now() < end {
        let turn = Instant::now();
        // In CPU time, so that one that is kept waiting still works as much as it wants.
        let until = clock::thread_cpu_ns() + busy;
        while clock::thread_cpu_ns() < until && Instant::now() < end {
            work();
        }
        if duty < 100 {
            thread::sleep(length.saturating_sub(turn.elapsed()));
        }
    }
}

/// A few microseconds of arithmetic that the compiler must not leave out.
fn work() {
    let mut sum = 0_u64;
    for number in 0..2_000_u64 {
        sum = black_box(sum.wrapping_mul(31).wrapping_add(number));
    }
}
