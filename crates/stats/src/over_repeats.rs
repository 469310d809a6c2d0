//! Numbers with one value per repeat: Student's t over the repeats, on logarithms.
//!
//! Rates, times and amounts are positive and vary by factors, so their logarithms are closer to
//! normal, and a ratio of two becomes a difference (Kalibera and Jones, "Rigorous benchmarking in
//! reasonable time", ISMM 2013, reports ratios with intervals for the same reason).

use super::resolution::Resolution;
use super::student::t_quantile;

/// The part of the error probability that each verdict may spend; intervals are shown with all of it.
const ACCUSED: f64 = 0.2;

/// Logarithms that are closer than this differ only by rounding.
const SAME: f64 = 1e-12;

/// Largest reasonable number of repeats.
pub const MOST_REPEATS: usize = 1000;

/// Mean and scatter of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean of the logarithms.
    pub mean: f64,
    /// Their standard deviation; 0 for a single one.
    pub deviation: f64,
    /// Number of values.
    pub count: usize,
    /// What the resolution of the numbers adds to half the width; 0 where the scatter includes it.
    pub grain: f64,
}

impl Spread {
    /// `None` for an empty slice.
    #[must_use]
    pub fn from_logs(logs: &[f64]) -> Option<Self> {
        let count = logs.len();
        if count == 0 {
            return None;
        }
        let mean = logs.iter().sum::<f64>() / count as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        Some(Self { mean, deviation, count, grain: 0.0 })
    }

    /// Spread of measured numbers, known only as finely as they were recorded.
    pub fn of_numbers(logs: &[f64], resolution: Resolution) -> Option<Self> {
        Some(Self::from_logs(logs)?.with_grain(coarsest(logs, resolution)))
    }

    /// Spread of the ratios of two such numbers per repeat, given as logarithms.
    pub fn of_ratios(pairs: &[(f64, f64)], resolution: Resolution) -> Option<Self> {
        let (of, to): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let grain = coarsest(&of, resolution) + coarsest(&to, resolution);
        let logs: Vec<f64> = pairs.iter().map(|(of, to)| of - to).collect();
        Some(Self::from_logs(&logs)?.with_grain(grain))
    }

    /// The same for numbers that are known to this grain. Those that scatter by half of it or more are
    /// rounded up one time and down the next, so that their scatter includes the rounding; others may
    /// all be rounded the same way.
    #[must_use]
    pub fn with_grain(self, grain: f64) -> Self {
        Self { grain: if self.deviation < 0.5 * grain { grain } else { 0.0 }, ..self }
    }

    /// Whether all values are equal.
    pub fn is_same(&self) -> bool {
        self.deviation <= SAME
    }

    /// Whether the scatter is known: one repeat shows none, and two values that are equal but for
    /// their rounding may agree by chance.
    pub fn is_known(&self) -> bool {
        self.count > 2 || self.count == 2 && !self.is_same() && self.grain <= 0.0
    }

    /// Half the width of the interval at this confidence: infinite where the scatter is unknown.
    #[must_use]
    pub fn half(&self, confidence: f64) -> f64 {
        match self.is_known() {
            true => self.half_of(self.count, confidence),
            false => f64::INFINITY,
        }
    }

    /// The same if so many repeats were like these.
    fn half_of(&self, count: usize, confidence: f64) -> f64 {
        half(self.deviation, count, confidence) + self.grain
    }

    /// The estimate and its interval, no longer as logarithms.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> (f64, f64, f64) {
        let half = self.half(confidence);
        (self.mean.exp(), (self.mean - half).exp(), (self.mean + half).exp())
    }

    /// Number of repeats that would probably bring half the width below `distance`, at the same
    /// scatter; `None` where no affordable number would, where the resolution is as wide, or where
    /// the scatter is unknown.
    pub fn needed(&self, distance: f64, confidence: f64) -> Option<usize> {
        if !self.is_known() || distance <= self.grain {
            return None;
        }
        (self.count + 1..=MOST_REPEATS).find(|count| self.half_of(*count, confidence) <= distance)
    }
}

fn half(deviation: f64, count: usize, confidence: f64) -> f64 {
    if deviation <= SAME {
        return 0.0;
    }
    t_quantile(confidence, (count - 1) as f64) * deviation / (count as f64).sqrt()
}

/// The grain of the number that is known least finely.
pub fn coarsest(logs: &[f64], resolution: Resolution) -> f64 {
    let resolution = resolution.of(logs.iter().map(|log| log.exp()));
    logs.iter().map(|log| resolution.grain(log.exp())).fold(0.0, f64::max)
}

/// The repeats that would probably decide the open cases: enough for the first that is outside, or
/// for all that are inside. Each has its distance from the allowed edge, negative outside.
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

/// The confidence of each of `count` intervals such that all hold together at `confidence`
/// (Bonferroni).
pub fn simultaneous(confidence: f64, count: usize) -> f64 {
    1.0 - (1.0 - confidence) / count.max(1) as f64
}

/// The confidence of each of `count` intervals used for `broken`: they hold together, with a part
/// of the error probability.
pub fn confidence_to_break(confidence: f64, count: usize) -> f64 {
    simultaneous(1.0 - ACCUSED * (1.0 - confidence), count)
}

/// The confidence of an interval that lies within a margin if two numbers are equal: a test of equivalence at a part
/// of the error takes the interval of twice that (Schuirmann 1987).
pub fn equivalence(confidence: f64) -> f64 {
    1.0 - 2.0 * ACCUSED * (1.0 - confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolution::BUCKET;

    #[test]
    fn three_repeats_have_two_degrees_of_freedom() {
        let spread = Spread::from_logs(&[-0.1, 0.0, 0.1]).unwrap();
        assert!(spread.mean.abs() < 1e-12 && (spread.deviation - 0.1).abs() < 1e-12);
        // t(2) at 95 % is 4.3027.
        assert!((spread.half(0.95) - 4.3027 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-5);
        let (value, low, high) = spread.interval(0.95);
        assert!((value - 1.0).abs() < 1e-12 && (low * high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_repeat_has_a_value_and_no_bounds() {
        let spread = Spread::from_logs(&[2.0_f64.ln()]).unwrap();
        let (value, low, high) = spread.interval(0.95);
        assert!((value - 2.0).abs() < 1e-12);
        assert_eq!((low, high), (0.0, f64::INFINITY));
        assert_eq!(spread.needed(0.1, 0.95), None);
        assert_eq!(Spread::from_logs(&[]), None);
    }

    #[test]
    fn two_equal_repeats_have_an_unknown_scatter() {
        let of = |logs: &[f64]| Spread::from_logs(logs).unwrap().half(0.95);
        assert_eq!(of(&[0.3, 0.3]), f64::INFINITY);
        assert_eq!(of(&[0.3, 0.3, 0.3]), 0.0);
        assert!((of(&[0.0, 0.02]) - 12.7062 * 0.01).abs() < 1e-5);
    }

    #[test]
    fn equal_latencies_have_the_width_of_a_bucket() {
        let same = Spread::of_numbers(&[15.2e6_f64.ln(); 3], Resolution::Bucket).unwrap();
        assert!((same.half(0.95) - BUCKET.ln_1p()).abs() < 1e-12);
        assert_eq!(same.needed(0.01, 0.95), None);
        let scatter = [1.0_f64.ln(), 2.0_f64.ln(), 2.0_f64.ln()];
        assert_eq!(Spread::of_numbers(&scatter, Resolution::Bucket), Spread::from_logs(&scatter));
        let ratio =
            |pairs: &[(f64, f64)]| Spread::of_ratios(pairs, Resolution::Bucket).unwrap().half(0.95);
        assert!((ratio(&[(2.0, 1.0); 3]) - 2.0 * BUCKET.ln_1p()).abs() < 1e-12);
        let moved = [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3)];
        assert!((ratio(&moved) - 2.0 * BUCKET.ln_1p()).abs() < 1e-12);
    }

    #[test]
    fn equal_counts_have_the_width_of_a_unit() {
        let half = |value: f64, resolution| {
            Spread::of_numbers(&[value.ln(); 3], resolution).unwrap().half(0.95)
        };
        assert!((half(3.0, Resolution::Unit) - (1.0_f64 / 3.0).ln_1p()).abs() < 1e-12);
        assert!(half(1e9, Resolution::Unit) < 1.1e-9);
        assert_eq!(half(2.5, Resolution::Unit), 0.0, "no count");
        assert_eq!(half(3.0, Resolution::Exact), 0.0);
        let pairs = [(6.0_f64.ln(), 3.0_f64.ln()); 3];
        let ratio = Spread::of_ratios(&pairs, Resolution::Unit).unwrap().half(0.95);
        let sum = (1.0_f64 / 6.0).ln_1p() + (1.0_f64 / 3.0).ln_1p();
        assert!((ratio - sum).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn numbers_that_scatter_less_than_half_a_grain_may_be_rounded_alike() {
        let of = |part: f64, count: usize| {
            let mut logs = vec![0.0; count - 1];
            logs.push(part * BUCKET.ln_1p());
            Spread::of_numbers(&logs, Resolution::Bucket).unwrap()
        };
        // One of ten in the next bucket: 0.316 of its width.
        let scatter = 2.262_16 * 0.1_f64.sqrt() * BUCKET.ln_1p() / 10.0_f64.sqrt();
        assert!((of(1.0, 10).half(0.95) - scatter - BUCKET.ln_1p()).abs() < 1e-6);
        assert_eq!(of(2.0, 10).grain, 0.0);
        assert!(!of(0.5, 2).is_known() && of(1.0, 2).is_known());
        let near = [0.999_f64.ln(), 0.0, 1.001_f64.ln()];
        assert_eq!(Spread::of_numbers(&near, Resolution::Unit), Spread::from_logs(&near));
    }

    #[test]
    fn the_needed_repeats_are_the_fewest_that_suffice() {
        let spread = Spread::from_logs(&[-0.1, 0.0, 0.1]).unwrap();
        let needed = spread.needed(0.1, 0.95).unwrap();
        assert!(half(0.1, needed, 0.95) <= 0.1 && half(0.1, needed - 1, 0.95) > 0.1);
        assert_eq!(needed, 7);
        assert_eq!(spread.needed(1e-6, 0.95), None);
    }

    #[test]
    fn many_at_once_need_more_confidence_each() {
        assert!((simultaneous(0.95, 5) - 0.99).abs() < 1e-12);
        assert!((simultaneous(0.95, 1) - 0.95).abs() < 1e-12);
        assert!((confidence_to_break(0.95, 5) - 0.998).abs() < 1e-12);
    }
}
