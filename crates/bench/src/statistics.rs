//! Statistics of the bench.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Whether a target was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    Yes,
    No,
    /// The interval includes the target.
    Undecided,
}

impl Estimate {
    /// An exact value, counted and not estimated.
    pub(crate) const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// The median, with the smallest and the largest value as its interval: a handful of
    /// measurements allows nothing narrower. `None` without measurements.
    pub(crate) fn median(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let value = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Self { value, low, high })
    }

    /// The mean with its interval by Student's t. `None` with fewer than two measurements.
    pub(crate) fn mean(values: &[f64], confidence: f64) -> Option<Self> {
        let half = quantile(confidence, values.len())? * standard_error(values)?;
        let value = mean(values);
        Some(Self { value, low: value - half, high: value + half })
    }

    /// The ratio of paired measurements, by Student's t on the logarithms of the ratios, so that
    /// one half and double are symmetric. `None` with fewer than two pairs.
    pub(crate) fn ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<Self> {
        let logs = log_ratios(pairs);
        let half = quantile(confidence, logs.len())? * standard_error(&logs)?;
        let center = mean(&logs);
        Some(Self { value: center.exp(), low: (center - half).exp(), high: (center + half).exp() })
    }

    /// Whether the whole interval is at most `target`.
    pub(crate) fn at_most(&self, target: f64) -> Reached {
        match () {
            () if self.high <= target => Reached::Yes,
            () if self.low > target => Reached::No,
            () => Reached::Undecided,
        }
    }

    /// Equivalence test: whether this ratio is 1 within `margin`, not just not proven to differ.
    pub(crate) fn is_one_within(&self, margin: f64) -> Reached {
        match () {
            () if self.low >= 1.0 - margin && self.high <= 1.0 + margin => Reached::Yes,
            () if self.high < 1.0 - margin || self.low > 1.0 + margin => Reached::No,
            () => Reached::Undecided,
        }
    }
}

/// How many pairs would decide whether the ratio is 1 within `margin`, for the same noise and a
/// ratio of 1. `None` with fewer than two pairs or if no affordable number would.
pub(crate) fn pairs_needed(pairs: &[(f64, f64)], confidence: f64, margin: f64) -> Option<usize> {
    const MOST: usize = 100_000;
    let logs = log_ratios(pairs);
    let deviation = standard_error(&logs)? * (logs.len() as f64).sqrt();
    (2..MOST).find(|&count| {
        quantile(confidence, count)
            .is_some_and(|quantile| quantile * deviation / (count as f64).sqrt() <= margin)
    })
}

fn log_ratios(pairs: &[(f64, f64)]) -> Vec<f64> {
    let usable = pairs.iter().filter(|(one, other)| *one > 0.0 && *other > 0.0);
    usable.map(|(one, other)| (other / one).ln()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn standard_error(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let (mean, count) = (mean(values), values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (count - 1.0) / count).sqrt())
}

/// Half-width of a two-sided interval in standard errors.
fn quantile(confidence: f64, count: usize) -> Option<f64> {
    let freedom = count.checked_sub(1).filter(|freedom| *freedom > 0)?;
    let t = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    Some(t.inverse_cdf(f64::midpoint(1.0, confidence)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_has_its_extremes_as_interval() {
        let odd = Estimate::median(&[3.0, 1.0, 9.0]).unwrap();
        assert_eq!((odd.value, odd.low, odd.high), (3.0, 1.0, 9.0));
        assert_eq!(Estimate::median(&[4.0, 1.0, 2.0, 8.0]).unwrap().value, 3.0);
        assert_eq!(Estimate::median(&[]), None);
    }

    /// Mean 5, deviation 1, standard error 1 / sqrt(3), t(0.975, 2) = 4.30265.
    #[test]
    fn the_interval_of_a_mean_agrees_with_a_calculation_by_hand() {
        let found = Estimate::mean(&[4.0, 5.0, 6.0], 0.95).unwrap();
        assert!((found.value - 5.0).abs() < 1e-12, "{found:?}");
        assert!((found.high - 7.484_14).abs() < 1e-4, "{found:?}");
        assert!((found.low - 2.515_86).abs() < 1e-4, "{found:?}");
    }

    /// Logs of the ratios are -0.02, 0, 0.02: mean 0, deviation 0.02, standard error
    /// 0.02 / sqrt(3), t(0.975, 2) = 4.30265, so half a width of 0.049683.
    #[test]
    fn the_interval_of_a_ratio_agrees_with_a_calculation_by_hand() {
        let pairs = [(1.0, (-0.02_f64).exp()), (5.0, 5.0), (2.0, 2.0 * 0.02_f64.exp())];
        let found = Estimate::ratio(&pairs, 0.95).unwrap();
        assert!((found.value - 1.0).abs() < 1e-12, "{found:?}");
        assert!((found.high.ln() - 0.049_683).abs() < 1e-5, "{found:?}");
        assert!((found.low.ln() + 0.049_683).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn one_pair_has_no_interval() {
        assert_eq!(Estimate::ratio(&[(1.0, 1.0)], 0.95), None);
        assert_eq!(pairs_needed(&[(1.0, 1.0)], 0.95, 0.01), None);
    }

    #[test]
    fn a_ratio_is_one_only_if_its_whole_interval_is() {
        let estimate = |low, high| Estimate { value: f64::midpoint(low, high), low, high };
        assert_eq!(estimate(0.995, 1.004).is_one_within(0.01), Reached::Yes);
        assert_eq!(estimate(0.985, 1.004).is_one_within(0.01), Reached::Undecided);
        assert_eq!(estimate(0.5, 2.0).is_one_within(0.01), Reached::Undecided);
        assert_eq!(estimate(0.95, 0.98).is_one_within(0.01), Reached::No);
        assert_eq!(estimate(1.02, 1.03).is_one_within(0.01), Reached::No);
    }

    #[test]
    fn a_bound_inside_the_interval_decides_nothing() {
        let estimate = Estimate { value: 2.0, low: 1.0, high: 3.0 };
        assert_eq!(estimate.at_most(3.0), Reached::Yes);
        assert_eq!(estimate.at_most(2.5), Reached::Undecided);
        assert_eq!(estimate.at_most(0.5), Reached::No);
    }

    /// With the number of pairs reported as needed, the interval just fits the margin.
    #[test]
    fn the_pairs_needed_make_the_interval_fit() {
        let pairs = [(1.0, 1.02), (1.0, 0.98), (1.0, 1.03), (1.0, 0.97)];
        let needed = pairs_needed(&pairs, 0.95, 0.01).unwrap();
        let deviation = standard_error(&log_ratios(&pairs)).unwrap() * 2.0;
        let half =
            |count: usize| quantile(0.95, count).unwrap() * deviation / (count as f64).sqrt();
        assert!(half(needed) <= 0.01 && half(needed - 1) > 0.01, "{needed}");
    }
}
