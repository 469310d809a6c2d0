//! Integrated autocorrelation time of a series.
//!
//! `tau = 1 + 2 sum rho(k)` up to the first lag `k >= 5 tau` (Sokal 1997), with no other bound,
//! since times as long as the window must be detected. A window of `n` steps holds about `n / tau`
//! independent observations.

/// Lags are summed up to this many times the sum.
const WINDOW: f64 = 5.0;

/// The integrated autocorrelation time in steps, at least 1.
pub fn correlation_time(series: &[f64]) -> f64 {
    let n = series.len();
    let mean = series.iter().sum::<f64>() / n.max(1) as f64;
    let centred: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let covariance = |lag: usize| -> f64 {
        centred[lag..].iter().zip(&centred[..n - lag]).map(|(later, one)| later * one).sum()
    };
    let variance = if n > 1 { covariance(0) } else { 0.0 };
    // A series that is constant except for rounding is uncorrelated.
    if variance <= 1e-18 * mean * mean * n as f64 {
        return 1.0;
    }
    let mut time = 1.0_f64;
    for lag in 1..n {
        if lag as f64 >= WINDOW * time {
            break;
        }
        time += 2.0 * covariance(lag) / variance;
    }
    time.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AR(1) with uniform innovations from Knuth's linear congruential generator.
    fn autoregressive(length: usize, phi: f64) -> Vec<f64> {
        let (mut state, mut value) = (7_u64, 0.0);
        (0..length)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                value = phi * value + (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
                value
            })
            .collect()
    }

    #[test]
    fn the_time_of_an_autoregressive_series_is_found() {
        // (1 + phi) / (1 - phi)
        for (phi, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0), (0.98, 99.0)] {
            let found = correlation_time(&autoregressive(50_000, phi));
            assert!((found / expected - 1.0).abs() < 0.2, "{phi}: {found}");
        }
    }

    #[test]
    fn a_time_as_long_as_the_window_is_not_cut_short() {
        let step: Vec<f64> = (0..450).map(|one| if one < 220 { 2.0 } else { 1.0 }).collect();
        assert!(correlation_time(&step) * 20.0 > 450.0);
        assert_eq!(correlation_time(&[0.1; 500]), 1.0);
        assert_eq!(correlation_time(&[]), 1.0);
    }
}
