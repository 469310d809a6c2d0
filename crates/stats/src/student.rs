//! Quantiles of Student's t and of the normal distribution.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Half the width of a two-sided interval at this confidence, in standard errors estimated with
/// `freedom` degrees of freedom. Infinite without any freedom: one repeat shows nothing of the
/// difference between repeats.
pub fn t_quantile(confidence: f64, freedom: f64) -> f64 {
    if freedom > 1e5 {
        return normal_quantile(confidence);
    }
    let probability = upper(confidence);
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(probability))
}

/// Student's t that is exceeded with this probability.
pub(crate) fn t_upper(wrong: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| -t.inverse_cdf(wrong))
}

/// The same for a known standard error.
pub fn normal_quantile(confidence: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::INFINITY, |normal| normal.inverse_cdf(upper(confidence)))
}

fn upper(confidence: f64) -> f64 {
    0.5 + 0.5 * confidence.clamp(0.0, 1.0 - 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided quantiles as in printed tables of Student's t.
    #[test]
    fn agrees_with_printed_tables_of_t() {
        for (confidence, freedom, expected) in [
            (0.95, 1.0, 12.7062),
            (0.95, 2.0, 4.3027),
            (0.95, 5.0, 2.5706),
            (0.95, 10.0, 2.2281),
            (0.95, 30.0, 2.0423),
            (0.95, 120.0, 1.9799),
            (0.90, 7.0, 1.8946),
            (0.99, 4.0, 4.6041),
            (0.999, 60.0, 3.4602),
        ] {
            let found = t_quantile(confidence, freedom);
            assert!((found - expected).abs() < 1e-4, "{confidence} {freedom}: {found}");
        }
    }

    #[test]
    fn agrees_with_printed_tables_of_the_normal_distribution() {
        assert!((normal_quantile(0.95) - 1.959_964).abs() < 1e-5);
        assert!((normal_quantile(0.99) - 2.575_829).abs() < 1e-5);
        assert!((t_quantile(0.95, 1e7) - 1.959_964).abs() < 1e-5);
    }

    #[test]
    fn is_infinite_without_any_freedom() {
        assert_eq!(t_quantile(0.95, 0.0), f64::INFINITY);
    }
}
