//! From intervals to verdicts.
//!
//! `kept` is an intersection-union test of equivalence (Schuirmann 1987; Berger and Hsu 1996):
//! when every group's interval lies within the margin, "all groups are within the margin" holds
//! at that confidence without any correction for many groups. `broken` claims that *some* group
//! is outside, which one of many groups could be by chance, and therefore needs the wider
//! interval that holds for all groups at once.

use assay_stats::pooled::Estimate;
use assay_verdict::{Interval, Verdict};

/// On which side of the expected value a promise can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Too much and too little: shares.
    Both,
    /// Too much: a limit.
    Above,
    /// Too little: a protection.
    Below,
}

/// How far a group is from what was promised, as fractions of the expected value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Offence {
    /// The point estimate, at least 0.
    pub(crate) value: f64,
    /// The least that holds for all groups at once.
    pub(crate) low: f64,
    /// The most that the interval of this group allows.
    pub(crate) high: f64,
}

impl Side {
    /// How far a value is from the expected one, as a fraction of that; 0 on the side that breaks
    /// nothing.
    pub(crate) fn error(self, value: f64, expected: f64) -> f64 {
        let error = value / expected - 1.0;
        match self {
            Self::Above => error.max(0.0),
            Self::Below => (-error).max(0.0),
            Self::Both => error.abs(),
        }
    }
}

impl Offence {
    /// The distance of an estimate from the expected value.
    pub(crate) fn new(estimate: &Estimate, expected: f64, side: Side) -> Self {
        let above = |value: f64| Side::Above.error(value, expected);
        let below = |value: f64| Side::Below.error(value, expected);
        let (too_much, too_little) = (
            Self {
                value: above(estimate.value),
                low: above(estimate.broken.low),
                high: above(estimate.high),
            },
            Self {
                value: below(estimate.value),
                low: below(estimate.broken.high),
                high: below(estimate.low),
            },
        );
        match side {
            Side::Above => too_much,
            Side::Below => too_little,
            Side::Both => Self {
                value: too_much.value.max(too_little.value),
                low: too_much.low.max(too_little.low),
                high: too_much.high.max(too_little.high),
            },
        }
    }

    /// What one group's interval says.
    pub(crate) fn verdict(&self, within: f64) -> Verdict {
        if self.low > within {
            Verdict::Broken
        } else if self.high <= within {
            Verdict::Kept
        } else {
            Verdict::Undecided
        }
    }
}

/// The worst of all groups. By construction its upper end lies within the margin exactly when
/// all groups are kept, and its lower end outside exactly when some group broke the promise.
pub(crate) fn worst(offences: &[Offence]) -> Option<Interval> {
    let most = |part: fn(&Offence) -> f64| offences.iter().map(part).reduce(f64::max);
    Some(Interval {
        value: most(|offence| offence.value)?,
        low: most(|offence| offence.low)?,
        high: most(|offence| offence.high)?,
    })
}

/// So many times the data would probably decide, when intervals narrow with its square root: the
/// half width must shrink to the distance between the estimate and the margin. `None` when an
/// estimate sits on the margin, closer than a twentieth of it, where nothing affordable decides, or
/// an interval has no end.
pub(crate) fn needs(offences: &[Offence], within: f64) -> Option<f64> {
    let times = |half: f64, distance: f64| {
        let times = (half / distance).powi(2).max(1.0);
        (distance > 0.05 * within && times.is_finite()).then_some(times)
    };
    let outside = offences.iter().filter(|offence| offence.value > within);
    // One group that is surely outside is enough.
    let breaks = outside
        .clone()
        .filter_map(|offence| times(offence.value - offence.low, offence.value - within));
    if let Some(least) = breaks.reduce(f64::min) {
        return Some(least);
    }
    if outside.count() > 0 {
        return None;
    }
    // Every group must be surely inside.
    let mut most = 1.0_f64;
    for offence in offences.iter().filter(|offence| offence.high > within) {
        most = most.max(times(offence.high - offence.value, within - offence.value)?);
    }
    Some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_stats::pooled::Range;

    fn estimate(value: f64, half: f64) -> Estimate {
        let broken = Range { low: value - 2.0 * half, high: value + 2.0 * half };
        Estimate { value, low: value - half, high: value + half, broken }
    }

    fn verdict(value: f64, half: f64, side: Side) -> Verdict {
        Offence::new(&estimate(value, half), 1.0, side).verdict(0.1)
    }

    #[test]
    fn an_interval_inside_keeps_and_one_outside_breaks() {
        assert_eq!(verdict(1.05, 0.04, Side::Both), Verdict::Kept);
        assert_eq!(verdict(1.05, 0.06, Side::Both), Verdict::Undecided);
        assert_eq!(verdict(1.20, 0.04, Side::Both), Verdict::Broken);
        assert_eq!(verdict(0.80, 0.04, Side::Both), Verdict::Broken);
        // Outside by its own interval, but not by the one for all groups.
        assert_eq!(verdict(1.20, 0.06, Side::Both), Verdict::Undecided);
    }

    #[test]
    fn a_limit_is_not_broken_by_using_less_nor_a_protection_by_getting_more() {
        assert_eq!(verdict(0.5, 0.01, Side::Above), Verdict::Kept);
        assert_eq!(verdict(1.5, 0.01, Side::Above), Verdict::Broken);
        assert_eq!(verdict(1.5, 0.01, Side::Below), Verdict::Kept);
        assert_eq!(verdict(0.5, 0.01, Side::Below), Verdict::Broken);
    }

    #[test]
    fn needed_data_grows_with_the_square_of_the_interval() {
        let offence = |value| Offence::new(&estimate(value, 0.1), 1.0, Side::Both);
        // Half width 0.1 must shrink to 0.05: four times as much.
        let needed = needs(&[offence(1.05)], 0.1).unwrap();
        assert!((needed - 4.0).abs() < 1e-9, "{needed}");
        // One group outside by 0.1 with 0.2 for all groups: four times as much.
        let needed = needs(&[offence(1.2), offence(1.0)], 0.1).unwrap();
        assert!((needed - 4.0).abs() < 1e-9, "{needed}");
        let endless = Offence { value: 0.05, low: 0.0, high: f64::INFINITY };
        assert_eq!(needs(&[endless], 0.1), None);
        assert_eq!(needs(&[offence(1.102)], 0.1), None);
        assert_eq!(needs(&[offence(1.098)], 0.1), None);
    }
}
