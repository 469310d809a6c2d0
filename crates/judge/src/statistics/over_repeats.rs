//! Numbers of which each repeat gives one: Student's t over the repeats, on logarithms.
//!
//! Rates, times and amounts are positive and vary by factors, so that their logarithms are nearer
//! to normal than they are, and a ratio of two becomes a difference (Kalibera and Jones, "Rigorous
//! benchmarking in reasonable time", ISMM 2013, reports ratios with intervals for the same reason).

use super::student::t_quantile;

/// More repeats than this nobody makes to decide a promise.
const MOST_REPEATS: usize = 1000;

/// The mean of some logarithms and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean of the logarithms.
    pub mean: f64,
    /// Their standard deviation; 0 for a single one.
    pub deviation: f64,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    /// `None` where there is nothing.
    #[must_use]
    pub fn of(logs: &[f64]) -> Option<Self> {
        let count = logs.len();
        if count == 0 {
            return None;
        }
        let mean = logs.iter().sum::<f64>() / count as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        Some(Self { mean, deviation, count })
    }

    /// Half the width of the interval at this confidence. Infinite for a single repeat, which says
    /// nothing of the others; 0 where all repeats agree to the last digit.
    #[must_use]
    pub fn half(&self, confidence: f64) -> f64 {
        half(self.deviation, self.count, confidence)
    }

    /// The point estimate and its interval, no longer as logarithms.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> (f64, f64, f64) {
        let half = self.half(confidence);
        (self.mean.exp(), (self.mean - half).exp(), (self.mean + half).exp())
    }

    /// How many repeats would probably bring the half width below `distance`, if they scatter like
    /// these; `None` where no affordable number would, or where nothing is known of the scatter.
    pub(crate) fn needed(&self, distance: f64, confidence: f64) -> Option<usize> {
        if self.count < 2 || distance <= 0.0 {
            return None;
        }
        (self.count + 1..=MOST_REPEATS)
            .find(|count| half(self.deviation, *count, confidence) <= distance)
    }
}

fn half(deviation: f64, count: usize, confidence: f64) -> f64 {
    if count < 2 {
        return f64::INFINITY;
    }
    if deviation <= 0.0 {
        return 0.0;
    }
    t_quantile(confidence, (count - 1) as f64) * deviation / (count as f64).sqrt()
}

/// The confidence at which each of `count` intervals must stand for all of them to hold together
/// at `confidence` (Bonferroni).
pub(crate) fn of_all(confidence: f64, count: usize) -> f64 {
    1.0 - (1.0 - confidence) / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_repeats_have_two_degrees_of_freedom() {
        let spread = Spread::of(&[-0.1, 0.0, 0.1]).unwrap();
        assert!(spread.mean.abs() < 1e-12 && (spread.deviation - 0.1).abs() < 1e-12);
        // t(2) at 95 % is 4.3027.
        assert!((spread.half(0.95) - 4.3027 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-5);
        let (value, low, high) = spread.interval(0.95);
        assert!((value - 1.0).abs() < 1e-12 && (low * high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_repeat_has_a_value_and_no_bounds() {
        let spread = Spread::of(&[2.0_f64.ln()]).unwrap();
        let (value, low, high) = spread.interval(0.95);
        assert!((value - 2.0).abs() < 1e-12);
        assert_eq!((low, high), (0.0, f64::INFINITY));
        assert_eq!(spread.needed(0.1, 0.95), None);
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn the_repeats_needed_are_the_fewest_that_are_sure() {
        let spread = Spread { mean: 0.0, deviation: 0.1, count: 3 };
        let needed = spread.needed(0.1, 0.95).unwrap();
        assert!(half(0.1, needed, 0.95) <= 0.1 && half(0.1, needed - 1, 0.95) > 0.1);
        assert_eq!(needed, 7);
        assert_eq!(spread.needed(1e-6, 0.95), None);
    }

    #[test]
    fn many_at_once_need_more_confidence_each() {
        assert!((of_all(0.95, 5) - 0.99).abs() < 1e-12);
        assert!((of_all(0.95, 1) - 0.95).abs() < 1e-12);
    }
}
