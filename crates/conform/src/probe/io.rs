//! `io file=PATH size=BYTES block=BYTES depth=N pace=OPS write=0|1`: reads random blocks of a file with
//! direct I/O, or writes zeros to them. `read N` does so with N blocks one after the other and prints
//! `did N`. `go` does so continuously, with `depth` blocks in flight and at most `pace` blocks per second
//! unless that is 0; from then on `count` prints the number of blocks that are done, `count N`, or why the reader
//! has ended, `failed WHY`.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use assay_sys::kernel::Error;
use assay_sys::kernel::direct_io::{DirectIo, Direction};
use assay_sys::kernel::priority::go_before_others;
use rustix::io::Errno;

use super::{Arguments, number, print, serve, shown};

/// Random block offsets, which read-ahead cannot predict.
struct RandomOffsets {
    block: u64,
    blocks: u64,
    state: u64,
}

impl RandomOffsets {
    fn new(size: u64, block: u64) -> Self {
        Self { block, blocks: (size / block).max(1), state: u64::from(std::process::id()) }
    }

    fn next(&mut self) -> u64 {
        // Knuth's multiplier (MMIX); the upper bits are the random ones.
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.state >> 33) % self.blocks * self.block
    }
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let path = Path::new(arguments.text("file").ok_or("file=PATH is missing")?);
    let block: usize = arguments.number("block", 4096)?;
    let (depth, pace) = (arguments.number("depth", 1)?, arguments.number("pace", 0)?);
    let end = Instant::now() + arguments.lifetime()?;
    // The probe should wait for the disk and not for the CPU, which serves a loop disk; if it may not raise its
    // priority, the case sees how long it waited.
    go_before_others();
    let direction =
        if arguments.number("write", 0)? == 0 { Direction::Read } else { Direction::Write };
    let disk = match DirectIo::open(path, direction, block, depth) {
        Ok(disk) => disk,
        // In place of `ready`.
        Err(error) => return print(out, &shown(error).replace('\n', ";")),
    };
    let offsets = RandomOffsets::new(arguments.number("size", 1 << 20)?, block as u64);
    // Those of the thread that reads continuously, once there is one.
    let mut own = Some((disk, offsets));
    let count = Arc::new(AtomicU64::new(0));
    let failed = Arc::new(OnceLock::new());
    serve(out, |words, _| {
        Ok(Some(match words {
            ["go"] => {
                if let Some((disk, offsets)) = own.take() {
                    let (count, failed) = (Arc::clone(&count), Arc::clone(&failed));
                    let begun = std::thread::Builder::new().spawn(move || {
                        if let Err(error) = go_on(disk, offsets, depth, pace, end, &count) {
                            let _ = failed.set(error.to_string().replace('\n', " "));
                        }
                    });
                    begun.map_err(|cause| format!("cannot start a thread: {cause}"))?;
                }
                "going".to_owned()
            }
            ["count"] => match failed.get() {
                Some(why) => format!("failed {why}"),
                None => format!("count {}", count.load(Ordering::Relaxed)),
            },
            ["read", blocks] => {
                if let Some((disk, offsets)) = &mut own {
                    one_by_one(disk, offsets, number(blocks)?).map_err(shown)?;
                }
                format!("did {blocks}")
            }
            _ => return Ok(None),
        }))
    })
}

fn one_by_one(disk: &mut DirectIo, offsets: &mut RandomOffsets, number: u64) -> Result<(), Error> {
    for _ in 0..number {
        disk.start(0, offsets.next())?;
        disk.ended()?;
    }
    Ok(())
}

/// Ends with the first one that fails: a reader that does no more must not count as one that gets nothing.
fn go_on(
    mut disk: DirectIo,
    mut offsets: RandomOffsets,
    depth: usize,
    pace: u32,
    end: Instant,
    count: &AtomicU64,
) -> Result<(), Error> {
    for slot in 0..depth {
        disk.start(slot, offsets.next())?;
    }
    let interval = Duration::from_secs(1).checked_div(pace);
    let mut next = Instant::now();
    while Instant::now() < end {
        let ended = match disk.ended() {
            // It was stopped and continued.
            Err(error) if error.is(Errno::INTR) => continue,
            ended => ended?,
        };
        count.fetch_add(ended.len() as u64, Ordering::Relaxed);
        if let Some(interval) = interval {
            next += interval;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        for slot in ended {
            disk.start(slot, offsets.next())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_whole_blocks_inside_and_spread() {
        let mut offsets = RandomOffsets::new(10_000, 4096);
        let drawn: Vec<u64> = (0..40).map(|_| offsets.next()).collect();
        assert!(drawn.iter().all(|offset| [0, 4096].contains(offset)), "{drawn:?}");
        assert!(drawn.contains(&0) && drawn.contains(&4096));
    }
}
