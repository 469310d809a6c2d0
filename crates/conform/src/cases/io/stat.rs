//! Compares io.stat (blkio.throttle.io_service_bytes on v1) with what a process has read.

use assay_sys::kernel::counters::{blkio, io_stat};

use super::*;

/// The counters of a v1 group that no scheduler makes.
const V1_STAT: Topic = IO
    .documented_in(
        "Documentation/admin-guide/cgroup-v1/blkio-controller.rst, blkio.throttle.io_service_bytes",
    )
    .needing(&[
        Need::OnV1("io"),
        Need::Root,
        Need::Loop,
        Need::File("blkio.throttle.io_service_bytes"),
    ]);

pub(crate) const CASES: &[Case] = &[
    IO.case(
        "stat-counts-what-was-read",
        "The counters of a group grow by exactly what its processes have read, on v1 once some \
         group has a limit for the disk.",
        |fixture| Ok(judge_own(read(fixture, true)?.0)),
    ),
    V1_STAT.case(
        "stat-counts-without-any-limit",
        "The counters of a group of v1 grow by exactly what its processes have read from a disk for \
         which no group has a limit.",
        |fixture| Ok(judge_own(read(fixture, false)?.0)),
    ),
    IO.case(
        "stat-leaves-others-out",
        "The counters of a group do not grow by a sibling's reads.",
        |fixture| {
            let (own, other) = read(fixture, true)?;
            Ok(judge_others(own, other))
        },
    ),
];

const BLOCKS: u64 = 200;
const BLOCK: u64 = 16 << 10;

/// Bytes and number of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Read {
    bytes: u64,
    requests: u64,
}

fn counted(fixture: &Fixture, group: &str, disk: &Disk) -> Result<Read, Error> {
    let device = disk.numbers.to_string();
    if fixture.is_v2() {
        let text = fixture.read(group, "io.stat")?;
        let (bytes, requests) = io_stat(text.as_bytes(), &device);
        return Ok(Read { bytes: bytes.read, requests: requests.read });
    }
    let one = |file: &str| -> Result<u64, Error> {
        Ok(blkio(fixture.read(group, file)?.as_bytes(), &device).read)
    };
    Ok(Read {
        bytes: one("blkio.throttle.io_service_bytes")?,
        requests: one("blkio.throttle.io_serviced")?,
    })
}

/// Reads in group `a`; returns the counts of `a` and of its sibling `b`. With `may_limit`, on v1 a group above has a limit that holds nobody up.
fn read(fixture: &mut Fixture, may_limit: bool) -> Result<(Read, Read), Error> {
    let disk = blank(fixture)?;
    fixture.make_each(&["a", "b"])?;
    if may_limit && !fixture.is_v2() {
        // v1 counts on a disk only once some group has had a limit there (Linux 6.10 and later), and on 5.16 to 6.4 only what
        // such a group itself reads (docs/findings/v1-io-counters).
        let line = format!("{} {}", disk.numbers, 1_u64 << 60);
        fixture.write("", "blkio.throttle.read_bps_device", &line)?;
    }
    let mut probe = reader(fixture, "a", &disk, &format!("block={BLOCK}"))?;
    // Reads made while opening the disk are not part of the case.
    let before = counted(fixture, "a", &disk)?;
    probe.ask(&format!("read {BLOCKS}"))?;
    let grown = |fixture: &Fixture| -> Result<Read, Error> {
        let after = counted(fixture, "a", &disk)?;
        Ok(Read {
            bytes: after.bytes.saturating_sub(before.bytes),
            requests: after.requests.saturating_sub(before.requests),
        })
    };
    // A request is counted when it ends, possibly after the reader has seen it.
    fixture.wait_for(1.0, || Ok(grown(fixture)?.requests >= BLOCKS))?;
    Ok((grown(fixture)?, counted(fixture, "b", &disk)?))
}

fn judge_own(own: Read) -> Outcome {
    let all = Read { bytes: BLOCKS * BLOCK, requests: BLOCKS };
    let evidence = format!(
        "{BLOCKS} reads of {BLOCK} bytes, {} bytes in all: counted {} bytes in {} requests",
        all.bytes, own.bytes, own.requests
    );
    Outcome::holds(own == all, evidence)
}

fn judge_others(own: Read, other: Read) -> Outcome {
    let evidence =
        format!("counted for the reading group: {} bytes, its sibling {}", own.bytes, other.bytes);
    Outcome::holds(other.bytes == 0 && other.requests == 0, evidence)
        .void_if(own.bytes == 0, "nothing was counted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_reads_and_a_charged_sibling_are_broken() {
        let all = Read { bytes: BLOCKS * BLOCK, requests: BLOCKS };
        let none = Read { bytes: 0, requests: 0 };
        assert_eq!(judge_own(all).verdict, Verdict::Kept);
        assert_eq!(judge_own(none).verdict, Verdict::Broken);
        assert_eq!(judge_others(all, none).verdict, Verdict::Kept);
        assert_eq!(judge_others(all, all).verdict, Verdict::Broken);
        assert_eq!(judge_others(none, none).verdict, Verdict::Void);
    }
}
