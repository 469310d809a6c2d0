//! Parts of a whole that were counted repeat by repeat: looks at threads in their place, spans of
//! time in which a promise held, bytes on the right node.

use super::student::{normal_quantile, t_quantile};
use crate::judgement::Interval;

/// What one repeat counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counted {
    /// What was as it should be.
    pub(crate) held: f64,
    /// All that was looked at.
    pub(crate) of: f64,
    /// How many observations that is; infinite where everything was counted.
    pub(crate) looks: f64,
}

/// The part over all repeats, and the wider of two intervals: Student's t over the repeats, and
/// Wilson's (1927) over the observations of all of them, which is what agreement by chance cannot
/// undercut. One repeat has Wilson's alone, and stands for its own window. `None` without any.
pub(crate) fn over_repeats(counted: &[Counted], confidence: f64) -> Option<Interval> {
    let sum = |part: fn(&Counted) -> f64| counted.iter().map(part).sum::<f64>();
    let of = sum(|one| one.of);
    if of <= 0.0 {
        return None;
    }
    let value = sum(|one| one.held) / of;
    let (low, high) = wilson(value, sum(|one| one.looks), confidence);
    let half = student(counted, confidence);
    Some(Interval {
        value,
        low: low.min(value - half).max(0.0),
        // Rounding must not put the whole beyond itself.
        high: high.max(value + half).min(1.0).max(value),
    })
}

fn student(counted: &[Counted], confidence: f64) -> f64 {
    let parts = counted.iter().filter(|one| one.of > 0.0).map(|one| one.held / one.of);
    let parts: Vec<f64> = parts.collect();
    let n = parts.len() as f64;
    if parts.len() < 2 {
        return 0.0;
    }
    let mean = parts.iter().sum::<f64>() / n;
    let squares: f64 = parts.iter().map(|part| (part - mean).powi(2)).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    t_quantile(confidence, n - 1.0) * (squares / (n - 1.0) / n).sqrt()
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
        Counted { held, of: 100.0, looks: 100.0 }
    }

    #[test]
    fn one_repeat_has_the_interval_of_its_looks() {
        let found = over_repeats(&[counted(95.0)], 0.95).unwrap();
        // Wilson: 95 of 100 is 0.888 to 0.978.
        assert!((found.low - 0.8882).abs() < 1e-3 && (found.high - 0.9785).abs() < 1e-3);
        assert_eq!(over_repeats(&[], 0.95), None);
    }

    #[test]
    fn looks_that_depend_on_each_other_are_seen_by_the_repeats() {
        let found = over_repeats(&[counted(100.0), counted(70.0), counted(85.0)], 0.95).unwrap();
        // t(2) = 4.3027, standard deviation 0.15, three repeats.
        assert!((found.value - found.low - 4.3027 * 0.15 / 3.0_f64.sqrt()).abs() < 1e-3);
        assert_eq!(found.high, 1.0);
    }

    #[test]
    fn what_was_counted_whole_and_is_the_same_in_all_repeats_is_exact() {
        let all = Counted { held: 7.0, of: 7.0, looks: f64::INFINITY };
        let found = over_repeats(&[all, all], 0.95).unwrap();
        assert_eq!((found.low, found.high), (1.0, 1.0));
    }
}
