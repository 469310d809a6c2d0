//! `io file=PATH size=BYTES block=BYTES depth=N pace=OPS`: reads blocks at random places of a file,
//! past the page cache. `read N` reads so many, one after the other, and says `did N`. `go` reads
//! on and on, with `depth` reads under way at once, at most `pace` blocks a second where that is
//! not 0; from then on `count` is answered with how many blocks that were, `count N`.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use assay_kernel::Error;
use assay_kernel::direct_reads::DirectReads;

use super::{Words, life, say};

/// Places of a file that no read-ahead foresees.
struct Places {
    block: u64,
    blocks: u64,
    state: u64,
}

impl Places {
    fn new(size: u64, block: u64) -> Self {
        Self { block, blocks: (size / block).max(1), state: u64::from(std::process::id()) }
    }

    fn next(&mut self) -> u64 {
        // Knuth's multiplier (MMIX); the upper bits are the random ones.
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.state >> 33) % self.blocks * self.block
    }
}

pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let path = Path::new(words.text("file").ok_or("file=PATH is missing")?);
    let block: usize = words.number("block", 4096)?;
    let (depth, pace) = (words.number("depth", 1)?, words.number("pace", 0)?);
    let end = Instant::now() + life(words)?;
    // It is at the disk that it is to wait and not at the CPU; where it may not go first, the case
    // sees how long it waited.
    let _ = rustix::process::setpriority_process(None, -20);
    let wrong = |error: Error| error.to_string();
    let mut reads = Some(DirectReads::open(path, block, depth).map_err(wrong)?);
    let mut places = Some(Places::new(words.number("size", 1 << 20)?, block as u64));
    let count = Arc::new(AtomicU64::new(0));
    say(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| cause.to_string())?;
        match line.split_once(' ') {
            None if line == "go" => {
                if let (Some(reads), Some(places)) = (reads.take(), places.take()) {
                    let count = Arc::clone(&count);
                    std::thread::spawn(move || read_on(reads, places, depth, pace, end, &count));
                }
                say(out, "going")?;
            }
            None if line == "count" => {
                say(out, &format!("count {}", count.load(Ordering::Relaxed)))?;
            }
            Some(("read", number)) => {
                let number: u64 = number.parse().map_err(|_| format!("`{line}`: how many?"))?;
                if let (Some(reads), Some(places)) = (&mut reads, &mut places) {
                    read(reads, places, number).map_err(wrong)?;
                }
                say(out, &format!("did {number}"))?;
            }
            _ => return Err(format!("`{line}` is no order")),
        }
    }
    Ok(())
}

fn read(reads: &mut DirectReads, places: &mut Places, number: u64) -> Result<(), Error> {
    for _ in 0..number {
        reads.start(0, places.next())?;
        reads.ended()?;
    }
    Ok(())
}

/// Ends with the first read that fails, so that a broken disk shows as a count that stands still.
fn read_on(
    mut reads: DirectReads,
    mut places: Places,
    depth: usize,
    pace: u32,
    end: Instant,
    count: &AtomicU64,
) {
    if (0..depth).any(|slot| reads.start(slot, places.next()).is_err()) {
        return;
    }
    let turn = Duration::from_secs(1).checked_div(pace);
    let mut next = Instant::now();
    while Instant::now() < end {
        let Ok(ended) = reads.ended() else { return };
        count.fetch_add(ended.len() as u64, Ordering::Relaxed);
        if let Some(turn) = turn {
            next += turn;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        if ended.into_iter().any(|slot| reads.start(slot, places.next()).is_err()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_whole_blocks_inside_and_spread() {
        let mut places = Places::new(10_000, 4096);
        let seen: Vec<u64> = (0..40).map(|_| places.next()).collect();
        assert!(seen.iter().all(|place| [0, 4096].contains(place)), "{seen:?}");
        assert!(seen.contains(&0) && seen.contains(&4096));
    }
}
