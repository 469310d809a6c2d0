//! Numbers of which each repeat gives one: Student's t over the repeats, on logarithms.
//!
//! Rates, times and amounts are positive and vary by factors, so that their logarithms are nearer
//! to normal than they are, and a ratio of two becomes a difference (Kalibera and Jones, "Rigorous
//! benchmarking in reasonable time", ISMM 2013, reports ratios with intervals for the same reason).

use super::student::t_quantile;

/// The part of the error that `broken` may spend: who accuses must be surer than who acquits.
const ACCUSED: f64 = 0.2;

/// Logarithms that are closer than this are the same number but for rounding.
const SAME: f64 = 1e-12;

/// What a latency that is the same in all repeats leaves open: buckets of fio's histogram are a 64th
/// wide.
const BUCKET: f64 = 1.0 / 64.0;

/// More repeats than this nobody makes to decide a promise.
pub const MOST_REPEATS: usize = 1000;

/// The mean of some logarithms and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean of the logarithms.
    pub mean: f64,
    /// Their standard deviation; 0 for a single one.
    pub deviation: f64,
    /// How many there are.
    pub count: usize,
    /// Half the width that the grain of the numbers leaves where all are the same; else 0.
    pub grain: f64,
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
        Some(Self { mean, deviation, count, grain: 0.0 })
    }

    /// Of numbers as they were given: latencies that all are the same show no more than that they
    /// fell into one bucket of a histogram. Other numbers are taken as they are.
    pub fn of_numbers(logs: &[f64], is_latency: bool) -> Option<Self> {
        let spread = Self::of(logs)?;
        let grain = if spread.is_same() { grain(is_latency) } else { 0.0 };
        Some(Self { grain, ..spread })
    }

    /// Of the ratios of two such numbers in each repeat, of which the logarithms are given.
    pub fn of_ratios(pairs: &[(f64, f64)], is_latency: bool) -> Option<Self> {
        let side = |of: fn(&(f64, f64)) -> f64| {
            let logs: Vec<f64> = pairs.iter().map(of).collect();
            Self::of_numbers(&logs, is_latency)
        };
        let (of, to) = (side(|pair| pair.0)?, side(|pair| pair.1)?);
        let logs: Vec<f64> = pairs.iter().map(|(of, to)| of - to).collect();
        let spread = Self::of(&logs)?;
        let grain = match spread.is_same() {
            true if of.is_same() && to.is_same() => of.grain + to.grain,
            true => grain(is_latency),
            false => 0.0,
        };
        Some(Self { grain, ..spread })
    }

    /// Whether all are the same number.
    pub fn is_same(&self) -> bool {
        self.deviation <= SAME
    }

    /// Whether the repeats tell how far others may be off: one says nothing of others, and two that
    /// gave the very same number may have met in it by chance.
    pub fn is_known(&self) -> bool {
        self.count > 2 || self.count == 2 && !self.is_same()
    }

    /// Half the width of the interval at this confidence. Infinite where nothing is known; that of
    /// their grain where three repeats or more agree to the last digit.
    #[must_use]
    pub fn half(&self, confidence: f64) -> f64 {
        match self.is_known() {
            true => half(self.deviation, self.count, confidence).max(self.grain),
            false => f64::INFINITY,
        }
    }

    /// The point estimate and its interval, no longer as logarithms.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> (f64, f64, f64) {
        let half = self.half(confidence);
        (self.mean.exp(), (self.mean - half).exp(), (self.mean + half).exp())
    }

    /// How many repeats would probably bring the half width below `distance`, if they scatter like
    /// these; `None` where no affordable number would, where the grain is as wide, or where nothing
    /// is known of the scatter.
    pub fn needed(&self, distance: f64, confidence: f64) -> Option<usize> {
        if !self.is_known() || distance <= self.grain {
            return None;
        }
        (self.count + 1..=MOST_REPEATS)
            .find(|count| half(self.deviation, *count, confidence) <= distance)
    }
}

fn half(deviation: f64, count: usize, confidence: f64) -> f64 {
    if deviation <= SAME {
        return 0.0;
    }
    t_quantile(confidence, (count - 1) as f64) * deviation / (count as f64).sqrt()
}

/// Half the width of the interval of a number that was the same in all repeats, as a logarithm.
fn grain(is_latency: bool) -> f64 {
    if is_latency { BUCKET.ln_1p() } else { 0.0 }
}

/// The repeats that would probably decide what is open: enough for the first that is outside, or for
/// all that are inside. Each has its room to the edge of what is allowed, negative beyond it.
pub fn needed_of_all(open: impl Iterator<Item = (Spread, f64)>, confidence: f64) -> Option<usize> {
    let needed = |(spread, room): (Spread, f64)| (room, spread.needed(room.abs(), confidence));
    let (outside, inside): (Vec<_>, Vec<_>) = open.map(needed).partition(|(room, _)| *room < 0.0);
    match outside.is_empty() {
        true => inside
            .into_iter()
            .map(|(_, needed)| needed)
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .max(),
        false => outside.into_iter().filter_map(|(_, needed)| needed).min(),
    }
}

/// The confidence at which each of `count` intervals must stand for all of them to hold together
/// at `confidence` (Bonferroni).
pub fn of_all(confidence: f64, count: usize) -> f64 {
    1.0 - (1.0 - confidence) / count.max(1) as f64
}

/// The confidence of each of `count` intervals that `broken` rests on: they hold together, with a
/// part of the error.
pub fn to_accuse(confidence: f64, count: usize) -> f64 {
    of_all(1.0 - ACCUSED * (1.0 - confidence), count)
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
    fn two_repeats_that_gave_the_same_number_know_nothing_of_others() {
        let of = |logs: &[f64]| Spread::of(logs).unwrap().half(0.95);
        assert_eq!(of(&[0.3, 0.3]), f64::INFINITY);
        assert_eq!(of(&[0.3, 0.3, 0.3]), 0.0);
        assert!((of(&[0.0, 0.02]) - 12.7062 * 0.01).abs() < 1e-5);
    }

    #[test]
    fn latencies_that_are_the_same_fell_into_one_bucket() {
        let same = |is_latency| Spread::of_numbers(&[15.2e6_f64.ln(); 3], is_latency).unwrap();
        assert!((same(true).half(0.95) - BUCKET.ln_1p()).abs() < 1e-12);
        assert_eq!(same(false).half(0.95), 0.0, "a count is what it is");
        assert_eq!(same(true).needed(0.01, 0.95), None);
        let scatter = [1.0_f64.ln(), 2.0_f64.ln(), 2.0_f64.ln()];
        assert_eq!(Spread::of_numbers(&scatter, true), Spread::of(&scatter));
        let ratio = |pairs: &[(f64, f64)]| Spread::of_ratios(pairs, true).unwrap().half(0.95);
        assert!((ratio(&[(2.0, 1.0); 3]) - 2.0 * BUCKET.ln_1p()).abs() < 1e-12);
        let moved = [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3)];
        assert!((ratio(&moved) - BUCKET.ln_1p()).abs() < 1e-12);
    }

    #[test]
    fn the_repeats_needed_are_the_fewest_that_are_sure() {
        let spread = Spread { mean: 0.0, deviation: 0.1, count: 3, grain: 0.0 };
        let needed = spread.needed(0.1, 0.95).unwrap();
        assert!(half(0.1, needed, 0.95) <= 0.1 && half(0.1, needed - 1, 0.95) > 0.1);
        assert_eq!(needed, 7);
        assert_eq!(spread.needed(1e-6, 0.95), None);
    }

    #[test]
    fn many_at_once_need_more_confidence_each() {
        assert!((of_all(0.95, 5) - 0.99).abs() < 1e-12);
        assert!((of_all(0.95, 1) - 0.95).abs() < 1e-12);
        assert!((to_accuse(0.95, 5) - 0.998).abs() < 1e-12);
    }
}
