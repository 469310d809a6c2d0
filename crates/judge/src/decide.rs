//! Verdicts from the bounds of means ([`assay_stats::rule`]).

use crate::verdict::{Interval, Verdict};
use assay_record::terms::Side;
use assay_stats::rule::Estimate;

/// Distance of a group from its promise, as a fraction of the expected value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Deviation {
    /// The point estimate, at least 0.
    pub(crate) value: f64,
    /// Lower bound, for broken.
    pub(crate) low: f64,
    /// Upper bound, for kept.
    pub(crate) high: f64,
}

impl Deviation {
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

    /// The verdict on one group.
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

/// The worst of all groups. By construction its upper bound lies within the margin exactly when all
/// groups are kept, and its lower bound outside exactly when some group broke the promise.
pub(crate) fn worst(deviations: &[Deviation]) -> Option<Interval> {
    let most = |part: fn(&Deviation) -> f64| deviations.iter().map(part).reduce(f64::max);
    Some(Interval {
        value: most(|deviation| deviation.value)?,
        low: most(|deviation| deviation.low)?,
        high: most(|deviation| deviation.high)?,
    })
}

/// Factor by which the data must grow to probably decide, when intervals narrow with its square
/// root: half the width must shrink to the distance between the estimate and the margin. `None`
/// when an estimate is closer to the margin than a twentieth of it, where nothing affordable
/// decides, or an interval is unbounded.
pub(crate) fn needs(deviations: &[Deviation], within: f64) -> Option<f64> {
    let times = |half: f64, distance: f64| {
        let times = (half / distance).powi(2).max(1.0);
        (distance > 0.05 * within && times.is_finite()).then_some(times)
    };
    let outside = deviations.iter().filter(|deviation| deviation.value > within);
    // One group significantly outside is enough.
    let breaks = outside
        .clone()
        .filter_map(|deviation| times(deviation.value - deviation.low, deviation.value - within));
    if let Some(least) = breaks.reduce(f64::min) {
        return Some(least);
    }
    if outside.count() > 0 {
        return None;
    }
    // Every group must be significantly inside.
    let mut most = 1.0_f64;
    for deviation in deviations.iter().filter(|deviation| deviation.high > within) {
        most = most.max(times(deviation.high - deviation.value, within - deviation.value)?);
    }
    Some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_stats::rule::Range;

    fn estimate(value: f64, half: f64) -> Estimate {
        let broken = Range { low: value - 2.0 * half, high: value + 2.0 * half };
        Estimate { value, low: value - half, high: value + half, broken }
    }

    fn verdict(value: f64, half: f64, side: Side) -> Verdict {
        Deviation::new(&estimate(value, half), 1.0, side).verdict(0.1)
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
    fn only_the_forbidden_direction_breaks_a_limit_or_protection() {
        assert_eq!(verdict(0.5, 0.01, Side::Above), Verdict::Kept);
        assert_eq!(verdict(1.5, 0.01, Side::Above), Verdict::Broken);
        assert_eq!(verdict(1.5, 0.01, Side::Below), Verdict::Kept);
        assert_eq!(verdict(0.5, 0.01, Side::Below), Verdict::Broken);
    }

    #[test]
    fn needed_data_grows_with_the_square_of_the_interval() {
        let deviation = |value| Deviation::new(&estimate(value, 0.1), 1.0, Side::Both);
        // Half width 0.1 must shrink to 0.05: four times as much.
        let needed = needs(&[deviation(1.05)], 0.1).unwrap();
        assert!((needed - 4.0).abs() < 1e-9, "{needed}");
        // One group outside by 0.1 with 0.2 for all groups: four times as much.
        let needed = needs(&[deviation(1.2), deviation(1.0)], 0.1).unwrap();
        assert!((needed - 4.0).abs() < 1e-9, "{needed}");
        let endless = Deviation { value: 0.05, low: 0.0, high: f64::INFINITY };
        assert_eq!(needs(&[endless], 0.1), None);
        assert_eq!(needs(&[deviation(1.102)], 0.1), None);
        assert_eq!(needs(&[deviation(1.098)], 0.1), None);
    }
}
