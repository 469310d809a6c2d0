//! io.stat, or blkio.throttle.io_service_bytes on v1, against what a process has read.

use assay_kernel::Error;
use assay_kernel::counters::{blkio, io_stat};

use super::disk::{Disk, blank, reader};
use crate::fixture::Fixture;
use crate::outcome::Outcome;

const BLOCKS: u64 = 200;
const BLOCK: u64 = 16 << 10;

/// Bytes and requests of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Read {
    bytes: u64,
    requests: u64,
}

fn counted(ground: &Fixture, group: &str, disk: &Disk) -> Result<Read, Error> {
    let device = disk.numbers.to_string();
    if ground.is_v2() {
        let text = ground.read(group, "io.stat")?;
        let (bytes, requests) = io_stat(text.as_bytes(), &device);
        return Ok(Read { bytes: bytes.read, requests: requests.read });
    }
    let one = |file: &str| -> Result<u64, Error> {
        Ok(blkio(ground.read(group, file)?.as_bytes(), &device).read)
    };
    Ok(Read {
        bytes: one("blkio.throttle.io_service_bytes")?,
        requests: one("blkio.throttle.io_serviced")?,
    })
}

/// Reads in group `a` and returns what it and its sibling `b` were counted.
fn read(ground: &mut Fixture) -> Result<(Read, Read), Error> {
    let disk = blank(ground)?;
    ground.make("a")?;
    ground.make("b")?;
    if !ground.is_v2() {
        // v1 counts on a disk only while some group has a limit there (Linux 6.10 and later).
        let line = format!("{} {}", disk.numbers, 1_u64 << 60);
        ground.write("", "blkio.throttle.read_bps_device", &line)?;
    }
    let mut probe = reader(ground, "a", &disk, &format!("block={BLOCK}"))?;
    // What the opening of the disk reads is no read of the case.
    let before = counted(ground, "a", &disk)?;
    probe.say(&format!("read {BLOCKS}"));
    probe.line()?;
    let grown = |ground: &Fixture| -> Result<Read, Error> {
        let after = counted(ground, "a", &disk)?;
        Ok(Read {
            bytes: after.bytes.saturating_sub(before.bytes),
            requests: after.requests.saturating_sub(before.requests),
        })
    };
    // The last request is counted when it ends, which the reader may see first.
    ground.wait_for(1.0, || Ok(grown(ground)?.requests >= BLOCKS))?;
    Ok((grown(ground)?, counted(ground, "b", &disk)?))
}

pub(super) fn own(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (own, _) = read(ground)?;
    Ok(judge_own(own))
}

fn judge_own(own: Read) -> Outcome {
    let seen = format!(
        "{BLOCKS} reads of {BLOCK} bytes, {} bytes in all: counted {} bytes in {} requests",
        BLOCKS * BLOCK,
        own.bytes,
        own.requests
    );
    Outcome::holds(own == Read { bytes: BLOCKS * BLOCK, requests: BLOCKS }, seen)
}

pub(super) fn others(ground: &mut Fixture) -> Result<Outcome, Error> {
    let (own, other) = read(ground)?;
    Ok(judge_others(own, other))
}

fn judge_others(own: Read, other: Read) -> Outcome {
    let seen =
        format!("the group that read was counted {} bytes, its sibling {}", own.bytes, other.bytes);
    if own.bytes == 0 {
        return Outcome::void("nothing was counted at all").with(seen);
    }
    Outcome::holds(other.bytes == 0 && other.requests == 0, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn counters_that_miss_reads_or_take_others_in_are_broken() {
        let all = Read { bytes: BLOCKS * BLOCK, requests: BLOCKS };
        let none = Read { bytes: 0, requests: 0 };
        assert_eq!(judge_own(all).verdict, Verdict::Kept);
        assert_eq!(judge_own(none).verdict, Verdict::Broken);
        assert_eq!(judge_others(all, none).verdict, Verdict::Kept);
        assert_eq!(judge_others(all, all).verdict, Verdict::Broken);
        assert_eq!(judge_others(none, none).verdict, Verdict::Void);
    }
}
