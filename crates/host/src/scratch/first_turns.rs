//! The first turns under BFQ, so that `max_budget` acts on the groups of a study.
//!
//! Until BFQ has given some budgets since it was switched on (`bfq_max_budget` of block/bfq-iosched.c, Linux 4.12 to 6.18 at
//! least: a moving average has to reach 194 of 256, which takes a dozen turns), it uses its own default, whatever was
//! written to `max_budget`. All queues of groups that start together are made in that time. Each begins with two thirds of the
//! default, 10922 sectors, and keeps that until its first turn is over; and by the rules of its order (B-WF2Q+) a first turn
//! of that length waits for 10922 sectors x sum of weights / weight of others' service. The lightest of 64 groups got nothing for more
//! than ten seconds, and one whole turn after that.

use std::path::Path;
use std::sync::mpsc;
use std::thread::Builder;
use std::time::Duration;

use assay_sys::kernel::direct_io::{DirectIo, Direction};
use assay_sys::kernel::{Error, Root};

/// Turns that are taken: more than enough for the average to pass its threshold.
const TURNS: u32 = 20;

/// A block that any disk reads by itself.
const BLOCK: usize = 4096;

/// BFQ waits this long for the next request of a queue before its turn ends (`slice_idle`, in milliseconds), by default.
const SLICE_IDLE_MS: u64 = 8;

/// Longer values are not waited for in full.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// A disk that does not answer for so long is left to the workloads, which report it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Takes the first turns of a disk under BFQ, by reads of its first block.
pub(super) fn take(root: &Root, device: &str) -> Result<(), Error> {
    // A tree of files has no disk.
    if !root.is_real() {
        return Ok(());
    }
    let idle = Path::new("/sys/block").join(device).join("queue/iosched/slice_idle");
    let idle = root.read_trimmed(idle).ok().and_then(|text| text.parse().ok());
    let pause = Duration::from_millis(idle.unwrap_or(SLICE_IDLE_MS) + 2).min(LONGEST_PAUSE);
    let node = root.resolve(Path::new("/dev").join(device));
    let (done, answer) = mpsc::channel();
    // A read of a disk that hangs does not end, whatever is done. Without a thread there is no answer.
    let _ = Builder::new().spawn(move || done.send(read(&node, pause)));
    answer.recv_timeout(PATIENCE).unwrap_or(Ok(()))
}

fn read(node: &Path, pause: Duration) -> Result<(), Error> {
    let mut disk = DirectIo::open(node, Direction::Read, BLOCK, 1)?;
    for _ in 0..TURNS {
        disk.start(0, 0)?;
        disk.ended()?;
        std::thread::sleep(pause);
    }
    Ok(())
}
