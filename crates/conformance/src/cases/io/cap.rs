//! io.max, or blkio.throttle on v1.

use assay_kernel::Error;

use super::disk::{Disk, blank, count, reader, start_reading};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop, Verdict};
use crate::windows::Window;

/// The capped quantity and its limit per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cap {
    /// The key in io.max.
    key: &'static str,
    /// The v1 file.
    file: &'static str,
    limit: u64,
    /// Cost of one block.
    block: u64,
    words: &'static str,
}

pub(super) const BYTES: Cap = Cap {
    key: "rbps",
    file: "blkio.throttle.read_bps_device",
    limit: 1 << 20,
    block: 32 << 10,
    words: "block=32768 depth=2",
};
const WRITTEN: Cap = Cap {
    key: "wbps",
    file: "blkio.throttle.write_bps_device",
    limit: 1 << 20,
    block: 32 << 10,
    words: "block=32768 depth=2 write=1",
};
const REQUESTS: Cap = Cap {
    key: "riops",
    file: "blkio.throttle.read_iops_device",
    limit: 100,
    block: 1,
    words: "block=4096 depth=2",
};

impl Cap {
    fn set(&self, fixture: &Fixture, group: &str, disk: &Disk, limit: u64) -> Result<(), Error> {
        if fixture.is_v2() {
            let line = format!("{} {}={limit}", disk.numbers, self.key);
            return fixture.write(group, "io.max", &line);
        }
        fixture.write(group, self.file, &format!("{} {limit}", disk.numbers))
    }

    fn lift(&self, fixture: &Fixture, group: &str, disk: &Disk) -> Result<(), Error> {
        let (file, none) = fixture.by_version(
            (self.file, format!("{} 0", disk.numbers)),
            ("io.max", format!("{} {}=max", disk.numbers, self.key)),
        );
        fixture.write(group, file, &none)
    }

    /// A reader's rate relative to the limit.
    fn part(&self, windows: &[Window], index: usize) -> Interval {
        let parts = windows.iter().map(|window| {
            window.grew[index] * self.block as f64 / window.seconds / self.limit as f64
        });
        Interval::of_mean(&parts.collect::<Vec<f64>>())
    }
}

/// Judges a capped group and an uncapped one that read the same disk, both relative to the limit.
fn two(
    fixture: &mut Fixture,
    cap: Cap,
    judge: impl Fn(Interval, Interval) -> Outcome,
) -> Result<Outcome, Stop> {
    let disk = blank(fixture)?;
    two_readers(fixture, cap, [("capped", &disk), ("free", &disk)], judge)
}

/// Limits the group of the first reader on its disk, and judges both relative to the limit.
pub(super) fn two_readers(
    fixture: &mut Fixture,
    cap: Cap,
    readers: [(&str, &Disk); 2],
    judge: impl Fn(Interval, Interval) -> Outcome,
) -> Result<Outcome, Stop> {
    let mut probes = Vec::new();
    for group in ["capped", "free"] {
        fixture.make(group)?;
    }
    for (group, disk) in readers {
        probes.push(reader(fixture, group, disk, cap.words)?);
    }
    let (group, disk) = readers[0];
    cap.set(fixture, group, disk, cap.limit)?;
    for probe in &mut probes {
        start_reading(probe)?;
    }
    // A new limit starts with the budget of one time slice.
    fixture.pause(0.5)?;
    let counts = || probes.iter_mut().map(count).collect();
    fixture.settle(6, &[0.5], counts, |windows| judge(cap.part(windows, 0), cap.part(windows, 1)))
}

pub(super) fn bytes(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    two(fixture, BYTES, |capped, free| judge(capped, free, "1 MiB/s"))
}

pub(super) fn written(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    two(fixture, WRITTEN, |capped, free| judge(capped, free, "1 MiB/s of writes"))
}

pub(super) fn requests(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    two(fixture, REQUESTS, |capped, free| judge(capped, free, "100 requests/s"))
}

/// A busy host makes a group slower than its limit, never faster.
pub(super) fn judge(capped: Interval, free: Interval, limit: &str) -> Outcome {
    let evidence = format!(
        "limit {limit}: the capped group got {capped} of that a second, the one without a limit \
         {free}"
    );
    if free.mean < 2.0 {
        return Outcome::void("it would not have been faster without a limit").with(evidence);
    }
    if capped.high < 0.6 {
        return Outcome::undecided("the group was far slower than its limit").with(evidence);
    }
    Outcome::decided(
        capped.verdict_within(0.0, 1.1),
        evidence,
        "the group got more than its limit",
        "its rate varies too much around the limit",
    )
}

pub(super) fn sibling(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    two(fixture, BYTES, judge_sibling)
}

/// The sibling must be well above the limit; a host too busy for that shows nothing.
fn judge_sibling(capped: Interval, free: Interval) -> Outcome {
    let evidence = format!(
        "a group capped at 1 MiB/s got {capped} of that, its sibling without a limit {free} of it"
    );
    if free.low > 2.0 {
        return Outcome::kept(evidence);
    }
    if free.verdict_within(0.8, 1.2) == Verdict::Kept {
        return Outcome::broken("the sibling was capped too").with(evidence);
    }
    Outcome::undecided("the sibling was not much faster than the limit").with(evidence)
}

/// A reader of 40 blocks per second, with a limit a thousand times as high.
pub(super) fn below_capacity(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    const REQUESTED: f64 = 40.0;
    let disk = blank(fixture)?;
    fixture.make("a")?;
    BYTES.set(fixture, "a", &disk, 1 << 30)?;
    let mut probe = reader(fixture, "a", &disk, "block=16384 pace=40")?;
    start_reading(&mut probe)?;
    fixture.pause(0.3)?;
    let got = |windows: &[Window]| {
        let parts = windows.iter().map(|window| window.grew[0] / window.seconds / REQUESTED);
        Interval::of_mean(&parts.collect::<Vec<f64>>())
    };
    let mut counts = || Ok(vec![count(&mut probe)?]);
    let limited = got(&fixture.windows(6, 0.5, &mut counts)?);
    let evidence = format!("limit 1 GiB/s, reading 0.6 MiB/s: the group got {limited} of that");
    if limited.verdict_within(0.85, 1.15) == Verdict::Kept {
        return Ok(Outcome::kept(evidence));
    }
    BYTES.lift(fixture, "a", &disk)?;
    fixture.pause(0.3)?;
    let free = got(&fixture.windows(6, 0.5, &mut counts)?);
    Ok(judge_slow(limited, free).with(evidence).with(format!("without a limit it got {free}")))
}

/// What a group got of what it wanted that got too little with its limit, and without it.
fn judge_slow(limited: Interval, free: Interval) -> Outcome {
    match () {
        () if free.mean < 0.85 => {
            Outcome::void("it could not read as much without a limit, either")
        }
        () if limited.high < 0.5 => Outcome::broken("the group was throttled far below its limit"),
        () => Outcome::undecided("its rate varies too much"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Interval = Interval { low: 0.5, mean: 1.1, high: 1.7 };

    fn near(mean: f64) -> Interval {
        Interval { low: mean * 0.98, mean, high: mean * 1.02 }
    }

    #[test]
    fn exceeding_the_limit_is_broken_and_a_slow_disk_is_void() {
        assert_eq!(judge(near(1.0), near(40.0), "1 MiB/s").verdict, Verdict::Kept);
        assert_eq!(judge(near(20.0), near(20.0), "1 MiB/s").verdict, Verdict::Broken);
        assert_eq!(judge(near(0.5), near(0.6), "1 MiB/s").verdict, Verdict::Void);
        assert_eq!(judge(WIDE, near(40.0), "1 MiB/s").verdict, Verdict::Undecided);
        assert_eq!(judge(near(0.0), near(40.0), "1 MiB/s").verdict, Verdict::Undecided, "stopped");
    }

    #[test]
    fn a_capped_sibling_and_throttling_far_below_the_limit_are_broken() {
        assert_eq!(judge_sibling(near(1.0), near(40.0)).verdict, Verdict::Kept);
        assert_eq!(judge_sibling(near(1.0), near(1.0)).verdict, Verdict::Broken);
        assert_eq!(judge_sibling(near(1.0), WIDE).verdict, Verdict::Undecided);
        assert_eq!(judge_slow(near(0.05), near(1.0)).verdict, Verdict::Broken);
        assert_eq!(judge_slow(near(0.6), near(1.0)).verdict, Verdict::Undecided);
        assert_eq!(judge_slow(near(0.05), near(0.1)).verdict, Verdict::Void, "a busy host");
    }
}
