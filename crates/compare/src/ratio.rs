//! The ratio of two numbers that each scatter, on logarithms.

use assay_judge::trial_numbers::RepeatLog;
use assay_stats::over_repeats::{MOST_REPEATS, Spread};
use assay_stats::student::t_quantile;

/// A logarithm with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Log {
    /// The logarithm.
    pub(super) mean: f64,
    /// The square of its standard error.
    variance: f64,
    /// Degrees of freedom of that; 0 where nothing is known of the scatter.
    freedom: f64,
    /// Repeats behind it.
    pub(super) repeats: usize,
    /// Half the width that it has at least: the grain of numbers that are the same in all repeats.
    grain: f64,
}

impl Log {
    /// One side by itself, of which only its repeats can tell how much it scatters from run to run: one
    /// says nothing of others. `is_latency` says whether they may be buckets of a histogram.
    pub(super) fn of(numbers: &[RepeatLog], is_latency: bool) -> Option<Self> {
        let logs: Vec<f64> = numbers.iter().map(|number| number.log).collect();
        Spread::of_numbers(&logs, is_latency).map(|spread| Self::from(&spread))
    }

    /// Of repeats that tell nothing of others the scatter is not known: see [`Spread::is_known`].
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

    /// The ratio of two sides that know nothing of each other (Welch 1947): each keeps its own
    /// scatter, and the degrees of freedom are Satterthwaite's.
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

    /// The ratio over pairs of repeats that ran next to each other: what moved both alike is gone
    /// from it. `None` where fewer than two pairs are there, of which no scatter can be seen.
    pub(super) fn paired(b: &[RepeatLog], a: &[RepeatLog], is_latency: bool) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = b
            .iter()
            .filter_map(|b| {
                let a = a.iter().find(|a| a.repeat == b.repeat)?;
                Some((b.log, a.log))
            })
            .collect();
        let spread = Spread::of_ratios(&pairs, is_latency).filter(|spread| spread.count > 1)?;
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

    /// How many repeats of each side would probably bring the half width below `distance`, if they
    /// scatter like these.
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
    fn two_sides_with_the_same_scatter_have_the_freedom_of_both() {
        // Welch with equal variances and sizes: 2 (n - 1) = 4 degrees of freedom.
        let a = Log::of(&numbers(&[-0.1, 0.0, 0.1]), false).unwrap();
        let b = Log::of(&numbers(&[0.1, 0.2, 0.3]), false).unwrap();
        let ratio = Log::ratio(&b, &a);
        assert!((ratio.mean - 0.2).abs() < 1e-12 && (ratio.freedom - 4.0).abs() < 1e-9);
        // t(4) at 95 % is 2.7764.
        let half = 2.7764 * (2.0 * 0.01 / 3.0_f64).sqrt();
        assert!((ratio.half(0.95) - half).abs() < 1e-4, "{}", ratio.half(0.95));
    }

    #[test]
    fn pairs_lose_what_moves_both_sides() {
        let (a, b) = (numbers(&[0.0, 1.0, 2.0]), numbers(&[0.1, 1.11, 2.09]));
        let paired = Log::paired(&b, &a, false).unwrap();
        let apart = Log::ratio(&Log::of(&b, false).unwrap(), &Log::of(&a, false).unwrap());
        assert!((paired.mean - 0.1).abs() < 1e-9 && paired.half(0.95) < 0.03);
        assert!(apart.half(0.95) > 1.0);
        assert!(Log::paired(&b[..1], &a, false).is_none(), "one pair has no scatter");
    }

    #[test]
    fn one_repeat_a_side_decides_nothing_however_long_it_was() {
        let one = Log::of(&numbers(&[0.0]), false).unwrap();
        let ratio = Log::ratio(&one, &one);
        assert!(!ratio.is_enough());
        assert_eq!(ratio.half(0.95), f64::INFINITY);
    }

    #[test]
    fn two_that_are_the_very_same_know_nothing_of_others() {
        let same = Log::of(&numbers(&[0.3, 0.3]), false).unwrap();
        let three = Log::of(&numbers(&[0.3, 0.3, 0.3]), false).unwrap();
        let pairs = Log::paired(&numbers(&[0.1, 0.5]), &numbers(&[0.0, 0.4]), false).unwrap();
        for ratio in [Log::ratio(&same, &same), Log::ratio(&same, &three), pairs] {
            assert!(!ratio.is_enough(), "{ratio:?}");
            assert_eq!(ratio.half(0.95), f64::INFINITY);
        }
        // Of what is the same in three, latencies are as sure as a bucket on each side.
        assert_eq!(Log::ratio(&three, &three).half(0.95), 0.0);
        let latency = Log::of(&numbers(&[0.3; 3]), true).unwrap();
        let buckets = 2.0 * (1.0_f64 / 64.0).ln_1p();
        assert!((Log::ratio(&latency, &latency).half(0.95) - buckets).abs() < 1e-12);
        assert_eq!(latency.needed(0.01, 0.95), None);
    }
}
