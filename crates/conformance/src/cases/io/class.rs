//! io.prio.class: the I/O class of a group's requests.

use super::disk::{count, paced, reader, start_reading};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::outcome::{Outcome, Stop};

pub(super) fn idle(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let disk = paced(fixture, "bfq", &[("iosched/low_latency", "0")])?;
    let file = fixture.by_version("blkio.prio.class", "io.prio.class");
    let mut probes = Vec::new();
    for class in ["idle", "restrict-to-be"] {
        fixture.make(class)?;
        fixture.write(class, file, class)?;
        probes.push(reader(fixture, class, &disk, "block=4096 depth=8")?);
    }
    for probe in &mut probes {
        start_reading(probe)?;
    }
    fixture.pause(0.5)?;
    let windows = fixture.windows(6, 0.5, || probes.iter_mut().map(count).collect())?;
    let shares = windows.iter().filter_map(|window| window.shares().map(|shares| shares[0]));
    Ok(judge(Interval::of_mean(&shares.collect::<Vec<f64>>())))
}

/// Without classes each of the two would get one half.
fn judge(share: Interval) -> Outcome {
    let evidence = format!("the group of the class idle got {share} of what both read");
    // A share cannot be negative, but the interval of a mean near zero can.
    Outcome::decided(
        share.verdict_within(f64::NEG_INFINITY, 0.25),
        evidence,
        "the class idle does not yield",
        "the shares vary too much between windows",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn equal_halves_mean_that_classes_are_ignored() {
        assert_eq!(judge(Interval::of_mean(&[0.02, 0.03, 0.02])).verdict, Verdict::Kept);
        assert_eq!(judge(Interval::of_mean(&[0.50, 0.51, 0.49])).verdict, Verdict::Broken);
        assert_eq!(judge(Interval::of_mean(&[0.1, 0.5, 0.2])).verdict, Verdict::Undecided);
    }
}
