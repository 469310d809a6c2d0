//! The ratio of two noisy numbers, on logarithms.

use crate::trial_numbers::RepeatLog;
use assay_stats::over_repeats::{MOST_REPEATS, Spread};
use assay_stats::rule::FEWEST;
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
    /// What rounding adds to half the interval's width, however many repeats there are; 0 where the
    /// scatter includes it.
    grain: f64,
}

impl Log {
    /// One side alone: only its repeats show the scatter from run to run, and one repeat shows
    /// none.
    ///
    /// Numbers that scatter by half a grain or more are rounded up one time and down the next, so
    /// that their scatter includes the rounding. Others may all be rounded the same way, and two of
    /// them may agree by chance, so that their scatter is unknown.
    pub(super) fn new(numbers: &[RepeatLog]) -> Option<Self> {
        let logs: Vec<f64> = numbers.iter().map(|number| number.log).collect();
        let spread = Spread::from_logs(&logs)?;
        let largest = |part: fn(&RepeatLog) -> f64| numbers.iter().map(part).fold(0.0, f64::max);
        let (grain, least) = (largest(|one| one.grain), largest(|one| one.least_error));
        let count = spread.count as f64;
        let is_resolved = !spread.is_same() && spread.deviation >= least.max(0.5 * grain);
        let is_known = spread.count > 2 || spread.count == 2 && is_resolved;
        let deviation = if spread.is_same() { least } else { spread.deviation.max(least) };
        Some(Self {
            mean: spread.mean,
            variance: deviation.powi(2) / count,
            freedom: if is_known { count - 1.0 } else { 0.0 },
            repeats: spread.count,
            grain: if is_resolved { 0.0 } else { grain },
        })
    }

    /// The ratio of two independent sides (Welch 1947): each keeps its own scatter, and the degrees
    /// of freedom are Satterthwaite's. With unlike numbers of repeats they are at most those of the
    /// side with fewer: where its few repeats agree by chance, the variance would seem to be the
    /// other's alone and as well known.
    pub(super) fn ratio(b: &Self, a: &Self) -> Self {
        let variance = a.variance + b.variance;
        let part = |side: &Self| match side.freedom > 0.0 {
            true => side.variance.powi(2) / side.freedom,
            false => f64::INFINITY,
        };
        let parts = part(a) + part(b);
        let freedom = if parts > 0.0 { variance.powi(2) / parts } else { a.freedom + b.freedom };
        let freedom = match a.repeats == b.repeats {
            true => freedom,
            false => freedom.min(a.freedom).min(b.freedom),
        };
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
    pub(super) fn paired(b: &[RepeatLog], a: &[RepeatLog]) -> Option<Self> {
        let ratio = |b: &RepeatLog| {
            let a = a.iter().find(|a| a.repeat == b.repeat)?;
            Some(RepeatLog {
                repeat: b.repeat,
                log: b.log - a.log,
                grain: b.grain + a.grain,
                least_error: b.least_error.hypot(a.least_error),
            })
        };
        let pairs: Vec<RepeatLog> = b.iter().filter_map(ratio).collect();
        Self::new(&pairs).filter(|ratio| ratio.repeats > 1)
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
        scatter + self.grain
    }

    /// Whether there are enough repeats to decide anything.
    pub(super) fn is_enough(&self) -> bool {
        self.freedom > 0.0 && self.repeats >= FEWEST
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
                <= distance - self.grain
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(logs: &[f64]) -> Vec<RepeatLog> {
        rounded(logs, 0.0)
    }

    /// Numbers that are known to this grain.
    fn rounded(logs: &[f64], grain: f64) -> Vec<RepeatLog> {
        let number =
            |(index, log): (usize, &f64)| RepeatLog { grain, ..RepeatLog::exact(index + 1, *log) };
        logs.iter().enumerate().map(number).collect()
    }

    fn new(logs: &[f64]) -> Log {
        Log::new(&numbers(logs)).unwrap()
    }

    #[test]
    fn welch_adds_the_degrees_of_freedom_of_equal_sides() {
        // Welch with equal variances and sizes: 2 (n - 1) = 4 degrees of freedom.
        let ratio = Log::ratio(&new(&[0.1, 0.2, 0.3]), &new(&[-0.1, 0.0, 0.1]));
        assert!((ratio.mean - 0.2).abs() < 1e-12 && (ratio.freedom - 4.0).abs() < 1e-9);
        // t(4) at 95 % is 2.7764.
        let half = 2.7764 * (2.0 * 0.01 / 3.0_f64).sqrt();
        assert!((ratio.half(0.95) - half).abs() < 1e-4, "{}", ratio.half(0.95));
    }

    /// Two repeats that agree by chance must not lend their side the other's degrees of freedom.
    #[test]
    fn few_repeats_against_many_are_not_decided_by_their_own_luck() {
        // A linear congruential generator (Knuth's MMIX); twelve uniform numbers make one that is
        // nearly normal.
        let mut state = 1_u64;
        let mut normal = || {
            let uniform = (0..12).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 11) as f64 / (1_u64 << 53) as f64
            });
            uniform.sum::<f64>() - 6.0
        };
        let wrong = (0..1000).filter(|_| {
            let a: Vec<f64> = (0..2).map(|_| 0.2 * normal()).collect();
            let b: Vec<f64> = (0..10).map(|_| 0.04 * normal()).collect();
            let ratio = Log::ratio(&new(&b), &new(&a));
            ratio.mean.abs() - ratio.half(0.999) > 0.05
        });
        let wrong = wrong.count();
        assert!(wrong <= 1, "{wrong} of 1000 are called different");
    }

    #[test]
    fn pairs_cancel_what_moves_both_sides() {
        let (a, b) = (numbers(&[0.0, 1.0, 2.0]), numbers(&[0.1, 1.11, 2.09]));
        let paired = Log::paired(&b, &a).unwrap();
        let apart = Log::ratio(&Log::new(&b).unwrap(), &Log::new(&a).unwrap());
        assert!((paired.mean - 0.1).abs() < 1e-9 && paired.half(0.95) < 0.03);
        assert!(apart.half(0.95) > 1.0);
        assert!(Log::paired(&b[..1], &a).is_none(), "one pair has no scatter");
    }

    #[test]
    fn two_identical_repeats_have_an_unknown_scatter() {
        let (same, three) = (new(&[0.3, 0.3]), new(&[0.3, 0.3, 0.3]));
        let pairs = Log::paired(&numbers(&[0.1, 0.5]), &numbers(&[0.0, 0.4])).unwrap();
        // As close as this by rounding alone.
        let close = Log::new(&rounded(&[0.3, 0.31], 0.1)).unwrap();
        for ratio in [Log::ratio(&same, &same), Log::ratio(&same, &three), pairs, close] {
            assert!(!ratio.is_enough(), "{ratio:?}");
            assert_eq!(ratio.half(0.95), f64::INFINITY);
        }
        assert_eq!(Log::ratio(&three, &three).half(0.95), 0.0);
    }

    #[test]
    fn the_grain_of_both_sides_widens_what_scatters_less() {
        let same = Log::new(&rounded(&[0.3; 3], 0.02)).unwrap();
        assert!((Log::ratio(&same, &same).half(0.95) - 0.04).abs() < 1e-12);
        assert_eq!(same.needed(0.01, 0.95), None);
        let close = Log::new(&rounded(&[0.299, 0.3, 0.301], 0.02)).unwrap();
        let scatter = 4.3027 * 0.001 / 3.0_f64.sqrt();
        assert!((close.half(0.95) - scatter - 0.02).abs() < 1e-5, "{close:?}");
        // More scatter includes the rounding.
        let apart = [0.28, 0.3, 0.32];
        assert_eq!(Log::new(&rounded(&apart, 0.02)), Log::new(&numbers(&apart)));
        let pairs = Log::paired(&rounded(&[0.1, 0.5, 0.9], 0.02), &numbers(&[0.0, 0.4, 0.8]));
        assert!((pairs.unwrap().half(0.95) - 0.02).abs() < 1e-12);
    }

    #[test]
    fn a_least_error_shrinks_with_the_repeats() {
        let of = |count: usize| {
            let one = RepeatLog { least_error: 0.02, ..RepeatLog::exact(1, 0.0) };
            Log::new(&vec![one; count]).unwrap()
        };
        assert!((of(3).half(0.95) - 4.3027 * 0.02 / 3.0_f64.sqrt()).abs() < 1e-5);
        assert!(of(9).half(0.95) < 0.02 && !of(2).is_enough());
    }
}
