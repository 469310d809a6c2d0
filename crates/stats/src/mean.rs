//! The interval of a mean of numbers that may be lopsided.
//!
//! A share that is ten times as large in one of twenty repeats has a mean that most repeats stay
//! below, and so do most means of few repeats. For many of them the central limit theorem holds: `m +-
//! z s / sqrt(R)`, and on the side of the tail `g (1 + 2 z^2) / (6 R) s` more, with the skewness `g`
//! (Johnson 1978, "Modified t tests and confidence intervals for asymmetrical populations"). Student's
//! t on logarithms is wider for few.

use super::estimate::{Estimate, Range};
use super::student::normal_quantile;

/// The estimate with the mean of these repeats as its value, and with intervals that contain those of
/// the mean at both confidences.
pub(super) fn widened(
    values: &[f64],
    (confidence, all): (f64, f64),
    estimate: Estimate,
) -> Estimate {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let of = |sure: f64| interval(values, mean, normal_quantile(sure));
    Estimate { value: mean, ..estimate }.with(of(confidence), of(all))
}

fn interval(values: &[f64], mean: f64, quantile: f64) -> Range {
    let count = values.len() as f64;
    let moment = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>();
    let squares = moment(2);
    if squares <= 0.0 {
        return Range { low: mean, high: mean };
    }
    let deviation = (squares / (count - 1.0)).sqrt();
    let skewness = moment(3) / count / (squares / count).powf(1.5);
    let half = quantile * deviation / count.sqrt();
    let tail = skewness * (1.0 + 2.0 * quantile * quantile) / (6.0 * count) * deviation;
    Range { low: (mean - half + tail.min(0.0)).max(0.0), high: mean + half + tail.max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Estimate {
        widened(values, (0.95, 0.99), Estimate::of_log(0.0, 0.0, 0.0))
    }

    #[test]
    fn the_interval_of_even_numbers_is_that_of_the_normal_distribution() {
        let values: Vec<f64> = (0..100).map(|one| if one % 2 == 0 { 0.9 } else { 1.1 }).collect();
        let found = of(&values);
        let half = 1.959_964 * (0.01_f64 * 100.0 / 99.0).sqrt() / 10.0;
        assert!((found.low - (1.0 - half)).abs() < 1e-6, "{found:?}");
        assert!((found.high - (1.0 + half)).abs() < 1e-6, "{found:?}");
        assert!(found.broken.low < found.low && found.high < found.broken.high, "{found:?}");
    }

    #[test]
    fn a_rare_excess_may_have_been_rarer_than_it_is() {
        // Ninety ones and ten elevens: mean 2, deviation 3 (3.0151 of a sample), skewness 2.6667.
        let values: Vec<f64> = (0..100).map(|one| if one % 10 == 0 { 11.0 } else { 1.0 }).collect();
        let found = of(&values);
        let half = 1.959_964 * 0.301_511;
        let tail = 2.666_667 * (1.0 + 2.0 * 1.959_964 * 1.959_964) / 600.0 * 3.015_113;
        assert!((found.value - 2.0).abs() < 1e-9);
        assert!((found.high - (2.0 + half + tail)).abs() < 1e-4, "{found:?}");
        assert!((found.low - 1.0).abs() < 1e-9, "as the estimate had it: {found:?}");
    }

    #[test]
    fn one_value_and_equal_ones_are_contained() {
        for values in [&[2.0][..], &[2.0; 3]] {
            let found = of(values);
            assert_eq!((found.value, found.low, found.high), (2.0, 1.0, 2.0));
        }
    }
}
