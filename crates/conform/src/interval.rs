//! Intervals of a mean over windows, and what they say of a promise.

use std::fmt;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::outcome::Verdict;

/// A mean with the interval that holds the true one at a confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// Lower end.
    pub low: f64,
    /// The mean.
    pub mean: f64,
    /// Upper end.
    pub high: f64,
}

/// Confidence of the intervals here. A table of a hundred cases should not call one of them
/// broken by chance, so it is higher than the usual 95 %.
const CONFIDENCE: f64 = 0.99;

impl Interval {
    /// Student's t over windows that are taken for independent. Readings of one counter at
    /// window edges err in opposite directions in neighbouring windows, so it errs to be wide.
    /// Infinitely wide for fewer than two values.
    #[must_use]
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        if values.len() < 2 {
            return Self { low: f64::NEG_INFINITY, mean, high: f64::INFINITY };
        }
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let quantile = StudentsT::new(0.0, 1.0, count - 1.0)
            .map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + CONFIDENCE / 2.0));
        let half = quantile * (variance / count).sqrt();
        Self { low: mean - half, mean, high: mean + half }
    }

    /// `Kept` when all of the interval is inside these bounds, `Broken` when all of it is
    /// outside, else `Undecided`.
    #[must_use]
    pub(crate) fn against(&self, least: f64, most: f64) -> Verdict {
        if self.low >= least && self.high <= most {
            Verdict::Kept
        } else if self.low > most || self.high < least {
            Verdict::Broken
        } else {
            Verdict::Undecided
        }
    }
}

impl fmt::Display for Interval {
    /// `0.27 [0.25, 0.29]`, with as many digits as asked for (`{:.3}`), else 2.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        write!(f, "{:.digits$} [{:.digits$}, {:.digits$}]", self.mean, self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_student_s() {
        // t(0.995, 3) = 5.8409; the standard deviation of 1, 2, 3, 4 is 1.29099.
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0]);
        assert!((interval.mean - 2.5).abs() < 1e-12);
        assert!((interval.high - 2.5 - 5.8409 * 1.290_99 / 2.0).abs() < 1e-3, "{interval}");
    }

    #[test]
    fn only_an_interval_wholly_outside_is_broken() {
        let interval = Interval { low: 0.9, mean: 1.0, high: 1.1 };
        assert_eq!(interval.against(0.8, 1.2), Verdict::Kept);
        assert_eq!(interval.against(1.2, 2.0), Verdict::Broken);
        assert_eq!(interval.against(1.0, 2.0), Verdict::Undecided);
        assert_eq!(Interval::of(&[1.0]).against(0.0, 2.0), Verdict::Undecided);
    }
}
