//! io.max, or blkio.throttle on v1.

use assay_kernel::Error;

use super::disk::{Disk, blank, count, go, reader};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Verdict};
use crate::windows::Window;

/// What is capped, and at how much a second.
#[derive(Debug, Clone, Copy)]
struct Cap {
    /// The key of io.max.
    key: &'static str,
    /// The file of v1.
    file: &'static str,
    limit: u64,
    /// By how much one block that was read counts against it.
    block: u64,
    words: &'static str,
}

const BYTES: Cap = Cap {
    key: "rbps",
    file: "blkio.throttle.read_bps_device",
    limit: 1 << 20,
    block: 32 << 10,
    words: "block=32768 depth=2",
};
const REQUESTS: Cap = Cap {
    key: "riops",
    file: "blkio.throttle.read_iops_device",
    limit: 100,
    block: 1,
    words: "block=4096 depth=2",
};

impl Cap {
    fn set(&self, ground: &Fixture, group: &str, disk: &Disk, limit: u64) -> Result<(), Error> {
        if ground.is_v2() {
            let line = format!("{} {}={limit}", disk.numbers, self.key);
            return ground.write(group, "io.max", &line);
        }
        ground.write(group, self.file, &format!("{} {limit}", disk.numbers))
    }

    /// What a reader got a second, by the limit.
    fn part(&self, windows: &[Window], index: usize) -> Interval {
        let parts = windows.iter().map(|window| {
            window.grew[index] * self.block as f64 / window.seconds / self.limit as f64
        });
        Interval::of(&parts.collect::<Vec<f64>>())
    }
}

/// Windows are added until it is decided, up to this many.
const MOST_WINDOWS: usize = 24;

/// Judges what a capped group and a free one that read the same disk got of the limit.
fn two(
    ground: &mut Fixture,
    cap: Cap,
    judge: impl Fn(Interval, Interval) -> Outcome,
) -> Result<Outcome, Error> {
    let disk = blank(ground)?;
    let mut probes = Vec::new();
    for group in ["capped", "free"] {
        ground.make(group)?;
        probes.push(reader(ground, group, &disk, cap.words)?);
    }
    cap.set(ground, "capped", &disk, cap.limit)?;
    for probe in &mut probes {
        go(probe)?;
    }
    // A new limit begins with what a slice of time holds.
    ground.pause(0.5)?;
    let mut windows = Vec::new();
    loop {
        windows.extend(ground.windows(6, 0.5, || probes.iter_mut().map(count).collect())?);
        let outcome = judge(cap.part(&windows, 0), cap.part(&windows, 1));
        if outcome.verdict != Verdict::Undecided || windows.len() >= MOST_WINDOWS {
            return Ok(outcome);
        }
    }
}

pub(super) fn bytes(ground: &mut Fixture) -> Result<Outcome, Error> {
    two(ground, BYTES, |capped, free| judge(capped, free, "1 MiB/s"))
}

pub(super) fn requests(ground: &mut Fixture) -> Result<Outcome, Error> {
    two(ground, REQUESTS, |capped, free| judge(capped, free, "100 requests/s"))
}

/// A busy host makes a group slower than its limit, never faster.
fn judge(capped: Interval, free: Interval, limit: &str) -> Outcome {
    let seen = format!(
        "limit {limit}: the capped group got {capped} of that a second, the one without a limit \
         {free}"
    );
    if free.mean < 2.0 {
        return Outcome::void("without a limit it would not have been faster").with(seen);
    }
    match capped.against(0.0, 1.1) {
        Verdict::Kept => Outcome::kept(seen),
        Verdict::Broken => Outcome::broken("the group got more than its limit").with(seen),
        _ => Outcome::undecided("what it got varies too much around the limit").with(seen),
    }
}

pub(super) fn sibling(ground: &mut Fixture) -> Result<Outcome, Error> {
    two(ground, BYTES, judge_sibling)
}

/// The sibling must be well above the limit; a host too busy for that shows nothing.
fn judge_sibling(capped: Interval, free: Interval) -> Outcome {
    let seen = format!(
        "beside a group that is capped at 1 MiB/s and got {capped} of that, its sibling without a \
         limit got {free} of it"
    );
    if free.low > 2.0 {
        return Outcome::kept(seen);
    }
    if (0.8..1.2).contains(&free.mean) {
        return Outcome::broken("the sibling was capped too").with(seen);
    }
    Outcome::undecided("the sibling was not much faster than the limit").with(seen)
}

/// A reader of 40 blocks a second, with a limit a thousand times as high.
pub(super) fn room(ground: &mut Fixture) -> Result<Outcome, Error> {
    const WANTED: f64 = 40.0;
    let disk = blank(ground)?;
    ground.make("a")?;
    BYTES.set(ground, "a", &disk, 1 << 30)?;
    let mut probe = reader(ground, "a", &disk, "block=16384 pace=40")?;
    go(&mut probe)?;
    ground.pause(0.3)?;
    let mut windows = Vec::new();
    loop {
        windows.extend(ground.windows(6, 0.5, || Ok(vec![count(&mut probe)?]))?);
        let parts = windows.iter().map(|window| window.grew[0] / window.seconds / WANTED);
        let outcome = judge_room(Interval::of(&parts.collect::<Vec<f64>>()));
        if outcome.verdict != Verdict::Undecided || windows.len() >= MOST_WINDOWS {
            return Ok(outcome);
        }
    }
}

fn judge_room(got: Interval) -> Outcome {
    let seen = format!("limit 1 GiB/s, 0.6 MiB/s wanted: the group got {got} of that");
    match got.against(0.85, 1.15) {
        Verdict::Kept => Outcome::kept(seen),
        // A host too busy for forty reads a second says nothing of the limit.
        _ if got.mean > 0.2 => Outcome::undecided("what it got varies too much").with(seen),
        _ => Outcome::broken("the group was held back far below its limit").with(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(mean: f64) -> Interval {
        Interval { low: mean * 0.98, mean, high: mean * 1.02 }
    }

    #[test]
    fn a_kernel_that_does_not_cap_is_broken_and_a_slow_disk_shows_nothing() {
        assert_eq!(judge(near(1.0), near(40.0), "1 MiB/s").verdict, Verdict::Kept);
        assert_eq!(judge(near(20.0), near(20.0), "1 MiB/s").verdict, Verdict::Broken);
        assert_eq!(judge(near(0.5), near(0.6), "1 MiB/s").verdict, Verdict::Void);
        let wide = Interval { low: 0.5, mean: 1.1, high: 1.7 };
        assert_eq!(judge(wide, near(40.0), "1 MiB/s").verdict, Verdict::Undecided);
    }

    #[test]
    fn a_sibling_that_is_capped_too_and_a_group_held_back_are_broken() {
        assert_eq!(judge_sibling(near(1.0), near(40.0)).verdict, Verdict::Kept);
        assert_eq!(judge_sibling(near(1.0), near(1.0)).verdict, Verdict::Broken);
        assert_eq!(judge_room(near(1.0)).verdict, Verdict::Kept);
        assert_eq!(judge_room(near(0.05)).verdict, Verdict::Broken);
        assert_eq!(judge_room(near(0.6)).verdict, Verdict::Undecided);
    }
}
