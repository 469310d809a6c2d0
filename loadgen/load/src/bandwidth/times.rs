//! Times of many repeats in bounded memory: extremes, mean and deviation of all, and the first ones
//! individually.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Repeats that are kept individually.
const KEPT: usize = 1000;
const CONFIDENCE: f64 = 0.95;

/// Times of one loop in seconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Times {
    pub(super) count: u64,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) mean: f64,
    /// Sum of the squared deviations from the mean (Welford, Technometrics 4, 1962).
    squares: f64,
    /// The first [`KEPT`] times.
    pub(super) first: Vec<f64>,
}

impl Times {
    /// No times yet. Memory for the kept ones is allocated at once.
    pub(super) fn empty() -> Self {
        Self {
            count: 0,
            least: f64::INFINITY,
            most: 0.0,
            mean: 0.0,
            squares: 0.0,
            first: Vec::with_capacity(KEPT),
        }
    }

    pub(super) fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.least = self.least.min(seconds);
        self.most = self.most.max(seconds);
        let off = seconds - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (seconds - self.mean);
        if self.first.len() < KEPT {
            self.first.push(seconds);
        }
    }

    /// Confidence interval of the mean by Student's t, 95 %; `None` with fewer than two repeats.
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        let freedom = self.count.checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
        let error = (self.squares / freedom / self.count as f64).sqrt();
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
        let half = t.inverse_cdf(f64::midpoint(1.0, CONFIDENCE)) * error;
        Some((self.mean - half, self.mean + half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean 5, deviation 1, standard error 1 / sqrt(3), t(0.975, 2) = 4.30265.
    #[test]
    fn mean_and_interval_agree_with_a_calculation_by_hand() {
        let mut times = Times::empty();
        assert_eq!(times.interval(), None);
        [4.0, 6.0, 5.0].into_iter().for_each(|seconds| times.add(seconds));
        assert_eq!((times.least, times.most, times.count), (4.0, 6.0, 3));
        let (low, high) = times.interval().unwrap();
        assert!((times.mean - 5.0).abs() < 1e-12);
        assert!((low - 2.515_86).abs() < 1e-4 && (high - 7.484_14).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn repeats_beyond_the_kept_ones_still_count() {
        let mut times = Times::empty();
        (0..2 * KEPT).for_each(|_| times.add(0.5));
        assert_eq!((times.count, times.first.len()), (2 * KEPT as u64, KEPT));
        assert_eq!(times.interval(), Some((0.5, 0.5)));
    }
}
