//! io.prio.class: the I/O class of a group's requests.

use super::backlog::watch;
use super::disk::{paced, reader, start_reading};
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
    watch(fixture, &mut probes, &[0.5], |windows, away| {
        let shares = windows.iter().filter_map(|window| window.shares().map(|shares| shares[0]));
        judge(Interval::of_mean(&shares.collect::<Vec<f64>>()), away[1])
    })
}

/// Without classes each of the two would get one half. While the other reader is away, the disk is the idle one's.
fn judge(share: Interval, away: f64) -> Outcome {
    let evidence = format!("the group of the class idle got {share} of what both read");
    if away > 0.1 && share.high > 0.25 {
        let why =
            format!("the other reader ran or waited for a CPU {:.0} % of the time", away * 100.0);
        return Outcome::void(why).with(evidence);
    }
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
        let of = |shares: &[f64], away| judge(Interval::of_mean(shares), away).verdict;
        assert_eq!(of(&[0.02, 0.03, 0.02], 0.3), Verdict::Kept);
        assert_eq!(of(&[0.50, 0.51, 0.49], 0.01), Verdict::Broken);
        assert_eq!(of(&[0.50, 0.51, 0.49], 0.3), Verdict::Void);
        assert_eq!(of(&[0.1, 0.5, 0.2], 0.01), Verdict::Undecided);
    }
}
