//! `spin threads=N cpu=LIST duty=PERCENT`: threads that use a CPU all the time, or a part of it.

use std::hint::black_box;
use std::io::Write;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use assay_kernel::affinity;

use super::{Words, life, say};

/// A thread that is busy for a part of the time works and sleeps in turns of this length.
const TURN: Duration = Duration::from_millis(10);

/// Says `thread TID` for each thread, after `ready`.
pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let cpus = words.numbers::<u16>("cpu")?;
    if !cpus.is_empty() {
        affinity::bind_self(&cpus).map_err(|error| error.to_string())?;
    }
    let threads: usize = words.number("threads", 1)?;
    let duty: u32 = words.number("duty", 100)?;
    let end = Instant::now() + life(words)?;
    let (born, ids) = channel();
    let running: Vec<_> = (0..threads)
        .map(|_| {
            let born = born.clone();
            thread::spawn(move || {
                let _ = born.send(rustix::thread::gettid().as_raw_nonzero().get());
                spin_until(end, duty);
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

fn spin_until(end: Instant, duty: u32) {
    let busy = TURN * duty.min(100) / 100;
    while Instant::now() < end {
        let turn = Instant::now();
        while turn.elapsed() < busy {
            work();
        }
        if duty < 100 {
            thread::sleep(TURN.saturating_sub(turn.elapsed()));
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
