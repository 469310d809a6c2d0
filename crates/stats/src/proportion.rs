//! Proportions counted repeat by repeat: looks at threads in place, spans of time in which a
//! promise held, bytes on the right node.

use super::over_repeats::Spread;
use super::student::{normal_quantile, t_quantile};
use crate::Interval;

/// The counts of one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// The favourable count.
    pub held: f64,
    /// The total count.
    pub of: f64,
    /// Largest number of independent observations; infinite where everything was counted.
    pub looks: f64,
    /// Resolution: the smallest part that this repeat can distinguish.
    pub grain: f64,
}

/// Fewest repeats with a lower end: a repeat is often whole, so that two of them agree by chance and
/// show nothing of how bad others are. A proportion that both lack shows how good they can be.
pub const FEWEST: usize = 3;

/// The mean proportion of the repeats, each of which counts once however many observations it has,
/// with the wider of two intervals: Student's t over the repeats,
/// whose deviation is at least that of rounding to the grain, and Wilson's (1927) over all
/// observations, which limits agreement by chance. Counts within a repeat are correlated over an
/// unknown time, so one repeat has no interval, and two have only the upper end of one. `None`
/// without any count.
pub fn over_repeats(counted: &[Counted], confidence: f64) -> Option<Interval> {
    let sum = |part: fn(&Counted) -> f64| counted.iter().map(part).sum::<f64>();
    let parts: Vec<f64> =
        counted.iter().filter(|one| one.of > 0.0).map(|one| one.held / one.of).collect();
    if parts.is_empty() {
        return None;
    }
    let value = parts.iter().sum::<f64>() / parts.len() as f64;
    if parts.len() < 2 {
        return Some(Interval { value, low: 0.0, high: 1.0 });
    }
    let count = parts.len() as f64;
    let grain = sum(|one| one.grain) / counted.len() as f64 / 12.0_f64.sqrt();
    let deviation = Spread::from_logs(&parts)?.deviation.max(grain);
    let half = t_quantile(confidence, count - 1.0) * deviation / count.sqrt();
    let (low, high) = wilson(value, sum(|one| one.looks), confidence);
    Some(Interval {
        value,
        low: if parts.len() < FEWEST { 0.0 } else { low.min(value - half).max(0.0) },
        // Rounding must not push the bound below the value.
        high: high.max(value + half).min(1.0).max(value),
    })
}

fn wilson(value: f64, n: f64, confidence: f64) -> (f64, f64) {
    if !n.is_finite() {
        return (value, value);
    }
    let z = normal_quantile(confidence);
    let middle = (value + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (value * (1.0 - value) / n + z * z / (4.0 * n * n)).sqrt();
    (middle - half, middle + half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(held: f64) -> Counted {
        Counted { held, of: 100.0, looks: 100.0, grain: 0.01 }
    }

    #[test]
    fn one_repeat_has_no_interval() {
        let found = over_repeats(&[counted(95.0)], 0.95).unwrap();
        assert_eq!((found.value, found.low, found.high), (0.95, 0.0, 1.0));
        assert_eq!(over_repeats(&[], 0.95), None);
    }

    #[test]
    fn repeats_that_agree_by_chance_have_wilson_limits() {
        let found = over_repeats(&[counted(95.0), counted(95.0), counted(95.0)], 0.95).unwrap();
        // Wilson: 285 of 300 is 0.919 to 0.969.
        assert!((found.low - 0.9192).abs() < 1e-3 && (found.high - 0.9693).abs() < 1e-3);
    }

    #[test]
    fn correlated_looks_scatter_between_repeats() {
        let found = over_repeats(&[counted(100.0), counted(70.0), counted(85.0)], 0.95).unwrap();
        // t(2) = 4.3027, standard deviation 0.15, three repeats.
        assert!((found.value - found.low - 4.3027 * 0.15 / 3.0_f64.sqrt()).abs() < 1e-3);
        assert_eq!(found.high, 1.0);
    }

    #[test]
    fn equal_repeats_have_the_width_of_their_grain() {
        let all = Counted { held: 7.0, of: 7.0, looks: f64::INFINITY, grain: 0.04 };
        let low = |repeats: usize| over_repeats(&vec![all; repeats], 0.95).unwrap().low;
        // t(2) = 4.3027 and t(4) = 2.7764 of a rounding error of 0.04 / sqrt(12).
        assert!((1.0 - low(3) - 4.3027 * 0.011547 / 3.0_f64.sqrt()).abs() < 1e-4);
        assert!((1.0 - low(5) - 2.7764 * 0.011547 / 5.0_f64.sqrt()).abs() < 1e-4);
    }

    #[test]
    fn a_long_repeat_counts_once() {
        let of = |held: f64, of: f64| Counted { held, of, looks: of, grain: 0.01 };
        let mut counted = vec![of(282.0, 300.0); 7];
        counted.push(of(2400.0, 2400.0));
        let found = over_repeats(&counted, 0.95).unwrap();
        // Seven times 94 % and once 100 %.
        assert!((found.value - 0.9475).abs() < 1e-12, "{found:?}");
        assert!(found.low < 0.95, "{found:?}");
    }

    #[test]
    fn two_repeats_have_an_upper_end_only() {
        let half = Counted { held: 3.0, of: 6.0, looks: f64::INFINITY, grain: 0.004 };
        let found = over_repeats(&[half; 2], 0.95).unwrap();
        // t(1) = 12.7062 of a rounding error of 0.004 / sqrt(12).
        assert!((found.high - 0.5 - 12.7062 * 0.0011547 / 2.0_f64.sqrt()).abs() < 1e-4);
        assert_eq!((found.value, found.low), (0.5, 0.0));
    }
}
