//! io.max and buffered writes: writeback is charged to the group of the writer.

use std::time::Instant;

use assay_kernel::Error;

use super::disk::blank;
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;

const MIB: u64 = 1 << 20;
/// Four seconds at the limit.
const BYTES: u64 = 4 * MIB;

/// With a limit of 1 MiB/s, then without: in this order, since the disk's pages belong to the group that first wrote them.
pub(super) fn caps(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let disk = blank(fixture)?;
    fixture.make("a")?;
    let mut probe = fixture.start("a", "memory")?;
    let mut with = |limit: &str| -> Result<f64, Error> {
        fixture.write("a", "io.max", &format!("{} wbps={limit}", disk.numbers))?;
        seconds(&mut probe, &format!("write {BYTES} {}", disk.node))
    };
    let held = with(&MIB.to_string())?;
    Ok(judge(held, with("max")?))
}

/// Until all of it was on the disk; none if the probe has ended.
fn seconds(probe: &mut Running, command: &str) -> Result<f64, Error> {
    let began = Instant::now();
    probe.send(command);
    let ended = probe.line()?.is_none();
    Ok(if ended { f64::INFINITY } else { began.elapsed().as_secs_f64() })
}

/// A busy host makes both slower, never faster.
fn judge(held: f64, free: f64) -> Outcome {
    let evidence = format!(
        "4 MiB written through the page cache and synchronized in {held:.2} s with a limit of 1 MiB/s, in \
         {free:.2} s without"
    );
    if free > 2.0 {
        return Outcome::void("it would not have been faster without a limit").with(evidence);
    }
    Outcome::holds(held > 3.0, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn buffered_writes_that_pass_the_limit_are_broken() {
        assert_eq!(judge(3.9, 0.1).verdict, Verdict::Kept);
        assert_eq!(judge(0.2, 0.1).verdict, Verdict::Broken);
        assert_eq!(judge(5.0, 4.0).verdict, Verdict::Void);
    }
}
