//! The ratio of two noisy numbers, on logarithms.

use assay_judge::trial_numbers::RepeatLog;
use assay_stats::over_repeats::{MOST_REPEATS, Resolution, Spread};
use assay_stats::student::t_quantile;

/// A logarithm with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Log {
    /// The logarithm.
    pub(super) mean: f64,
    /// The square of its standard error.
    variance: f64,
    /// Degrees of freedom of the variance; 0 where the scatter is unknown.
    freedom: f64,
    /// Number of repeats.
    pub(super) repeats: usize,
    /// Lower limit of half the interval's width: the resolution of numbers that are equal in all
    /// repeats.
    grain: f64,
}

impl Log {
    /// One side alone: only its repeats show the scatter from run to run, and one repeat shows
    /// none.
    pub(super) fn new(numbers: &[RepeatLog], resolution: Resolution) -> Option<Self> {
        let logs: Vec<f64> = numbers.iter().map(|number| number.log).collect();
        Spread::of_numbers(&logs, resolution).map(|spread| Self::from(&spread))
    }

    /// The scatter is unknown where [`Spread::is_known`] is false.
    fn from(spread: &Spread) -> Self {
        let count = spread.count as f64;
        Self {
            mean: spread.mean,
            variance: if spread.is_same() { 0.0 } else { spread.deviation.powi(2) / count },
            freedom: if spread.is_known() { count - 1.0 } else { 0.0 },
            repeats: spread.count,
            grain: spread.grain,
        }
    }

    /// The ratio of two independent sides (Welch 1947): each keeps its own scatter, and the degrees
    /// of freedom are Satterthwaite's.
    pub(super) fn ratio(b: &Self, a: &Self) -> Self {
        let variance = a.variance + b.variance;
        let part = |side: &Self| match side.freedom > 0.0 {
            true => side.variance.powi(2) / side.freedom,
            false => f64::INFINITY,
        };
        let parts = part(a) + part(b);
        let freedom = if parts > 0.0 { variance.powi(2) / parts } else { a.freedom + b.freedom };
        Self {
            mean: b.mean - a.mean,
            variance,
            freedom,
            repeats: a.repeats.min(b.repeats),
            grain: a.grain + b.grain,
        }
    }

    /// The ratio over pairs of repeats that ran next to each other: what moves both alike cancels.
    /// `None` with fewer than two pairs, which show no scatter.
    pub(super) fn paired(b: &[RepeatLog], a: &[RepeatLog], resolution: Resolution) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = b
            .iter()
            .filter_map(|b| {
                let a = a.iter().find(|a| a.repeat == b.repeat)?;
                Some((b.log, a.log))
            })
            .collect();
        let spread = Spread::of_ratios(&pairs, resolution).filter(|spread| spread.count > 1)?;
        Some(Self::from(&spread))
    }

    /// Half the width of the interval of the logarithm.
    pub(super) fn half(&self, confidence: f64) -> f64 {
        if self.freedom <= 0.0 {
            return f64::INFINITY;
        }
        let scatter = match self.variance > 0.0 {
            true => t_quantile(confidence, self.freedom) * self.variance.sqrt(),
            false => 0.0,
        };
        scatter.max(self.grain)
    }

    /// Whether the scatter is known well enough to decide anything.
    pub(super) fn is_enough(&self) -> bool {
        self.freedom > 0.0 && self.repeats > 1
    }

    /// Repeats of each side that would probably bring half the interval's width below `distance`,
    /// at the same scatter.
    pub(super) fn needed(&self, distance: f64, confidence: f64) -> Option<usize> {
        if self.freedom <= 0.0 || distance <= self.grain || self.repeats == 0 {
            return None;
        }
        (self.repeats + 1..=MOST_REPEATS).find(|count| {
            let times = *count as f64 / self.repeats as f64;
            t_quantile(confidence, self.freedom * times) * (self.variance / times).sqrt()
                <= distance
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(logs: &[f64]) -> Vec<RepeatLog> {
        let number = |(index, log): (usize, &f64)| RepeatLog { repeat: index + 1, log: *log };
        logs.iter().enumerate().map(number).collect()
    }

    #[test]
    fn welch_adds_the_degrees_of_freedom_of_equal_sides() {
        // Welch with equal variances and sizes: 2 (n - 1) = 4 degrees of freedom.
        let a = Log::new(&numbers(&[-0.1, 0.0, 0.1]), Resolution::Exact).unwrap();
        let b = Log::new(&numbers(&[0.1, 0.2, 0.3]), Resolution::Exact).unwrap();
        let ratio = Log::ratio(&b, &a);
        assert!((ratio.mean - 0.2).abs() < 1e-12 && (ratio.freedom - 4.0).abs() < 1e-9);
        // t(4) at 95 % is 2.7764.
        let half = 2.7764 * (2.0 * 0.01 / 3.0_f64).sqrt();
        assert!((ratio.half(0.95) - half).abs() < 1e-4, "{}", ratio.half(0.95));
    }

    #[test]
    fn pairs_cancel_what_moves_both_sides() {
        let (a, b) = (numbers(&[0.0, 1.0, 2.0]), numbers(&[0.1, 1.11, 2.09]));
        let paired = Log::paired(&b, &a, Resolution::Exact).unwrap();
        let apart = Log::ratio(
            &Log::new(&b, Resolution::Exact).unwrap(),
            &Log::new(&a, Resolution::Exact).unwrap(),
        );
        assert!((paired.mean - 0.1).abs() < 1e-9 && paired.half(0.95) < 0.03);
        assert!(apart.half(0.95) > 1.0);
        assert!(Log::paired(&b[..1], &a, Resolution::Exact).is_none(), "one pair has no scatter");
    }

    #[test]
    fn one_repeat_per_side_decides_nothing() {
        let one = Log::new(&numbers(&[0.0]), Resolution::Exact).unwrap();
        let ratio = Log::ratio(&one, &one);
        assert!(!ratio.is_enough());
        assert_eq!(ratio.half(0.95), f64::INFINITY);
    }

    #[test]
    fn two_identical_repeats_have_an_unknown_scatter() {
        let same = Log::new(&numbers(&[0.3, 0.3]), Resolution::Exact).unwrap();
        let three = Log::new(&numbers(&[0.3, 0.3, 0.3]), Resolution::Exact).unwrap();
        let pairs =
            Log::paired(&numbers(&[0.1, 0.5]), &numbers(&[0.0, 0.4]), Resolution::Exact).unwrap();
        for ratio in [Log::ratio(&same, &same), Log::ratio(&same, &three), pairs] {
            assert!(!ratio.is_enough(), "{ratio:?}");
            assert_eq!(ratio.half(0.95), f64::INFINITY);
        }
        // With three identical repeats, latencies still have the width of a bucket on each side.
        assert_eq!(Log::ratio(&three, &three).half(0.95), 0.0);
        let latency = Log::new(&numbers(&[0.3; 3]), Resolution::Bucket).unwrap();
        let buckets = 2.0 * (1.0_f64 / 64.0).ln_1p();
        assert!((Log::ratio(&latency, &latency).half(0.95) - buckets).abs() < 1e-12);
        assert_eq!(latency.needed(0.01, 0.95), None);
    }
}
