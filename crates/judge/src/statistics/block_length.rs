//! How long a block must be so that what follows it is nearly independent of it.
//!
//! Politis and White (2004), as corrected by Patton, Politis and White (2009), for the circular
//! block bootstrap: `b = (2 g^2 / d)^(1/3) n^(1/3)` with `g = sum lambda(k/m) |k| R(k)` and
//! `d = 4/3 (sum lambda(k/m) R(k))^2`, `R` the autocovariance, `lambda` the flat-top window and
//! `m` twice the first lag after which five autocorrelations in a row are insignificant.

/// Autocorrelations in a row that must be insignificant before the rest is taken for noise.
const QUIET_LAGS: usize = 5;

/// How long a series remembers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Memory {
    /// The optimal length of a block in steps, at least 1 and at most `min(3 sqrt(n), n / 3)`.
    pub(crate) block: f64,
    /// `g / sum R(k)` in steps: blocks of `b` steps miss about `1 / b` of it of the variance of a
    /// mean (Kuensch 1989), or exceed it where neighbours are unlike.
    pub(crate) missed: f64,
}

impl Memory {
    const NONE: Self = Self { block: 1.0, missed: 0.0 };
}

/// The optimal length alone.
#[cfg(test)]
pub(crate) fn optimal(series: &[f64]) -> f64 {
    memory(series).block
}

/// Measures how long a series remembers.
pub(crate) fn memory(series: &[f64]) -> Memory {
    let n = series.len();
    if n < 4 * QUIET_LAGS {
        return Memory::NONE;
    }
    let length = n as f64;
    let mean = series.iter().sum::<f64>() / length;
    let centred: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let scale = covariance(&centred, 0);
    // A constant series, but for rounding, needs no blocks.
    if scale <= 1e-20 * mean * mean {
        return Memory::NONE;
    }
    let covariances = significant(&centred);
    let m = covariances.len() - 1;
    let (mut g, mut spectrum) = (0.0, covariances[0]);
    for (lag, covariance) in covariances.iter().enumerate().skip(1) {
        let part = lag as f64 / m as f64;
        let window = if part <= 0.5 { 1.0 } else { 2.0 * (1.0 - part) };
        g += 2.0 * window * lag as f64 * covariance;
        spectrum += 2.0 * window * covariance;
    }
    let longest = (3.0 * length.sqrt()).min(length / 3.0).ceil();
    let d = 4.0 / 3.0 * spectrum * spectrum;
    if d <= 0.0 {
        return Memory { block: longest, missed: 0.0 };
    }
    let block = (2.0 * g * g / d * length).cbrt().clamp(1.0, longest);
    Memory { block, missed: if spectrum > 0.0 { g / spectrum } else { 0.0 } }
}

/// Autocovariances at lags 0 to `m`, where `m` is found on the way: most series are quiet after
/// a few lags, and the rest need not be computed.
fn significant(centred: &[f64]) -> Vec<f64> {
    let n = centred.len();
    let length = n as f64;
    let last = (length.sqrt().ceil() as usize + QUIET_LAGS).min(n - 2);
    let threshold = 2.0 * (length.log10() / length).sqrt();
    let whole: f64 = centred.iter().map(|value| value * value).sum();
    let (mut without_first, mut without_last) = (whole, whole);
    let mut covariances = Vec::new();
    let mut quiet = 0;
    let mut order = last;
    for lag in 0..=last {
        // The same trimmed norms as in the authors' program, so that results agree to the digit.
        without_first -= centred[lag] * centred[lag];
        without_last -= centred[n - 1 - lag] * centred[n - 1 - lag];
        let covariance = covariance(centred, lag);
        covariances.push(covariance);
        if order == last {
            let norm = (without_first * without_last).max(0.0).sqrt();
            quiet = if (covariance * length).abs() < threshold * norm { quiet + 1 } else { 0 };
            if quiet == QUIET_LAGS && lag < last {
                order = (2 * (lag + 1 - QUIET_LAGS).max(1)).min(last);
            }
        }
        if lag >= order {
            break;
        }
    }
    covariances.truncate(order + 1);
    covariances
}

fn covariance(centred: &[f64], lag: usize) -> f64 {
    let n = centred.len();
    let products = centred[lag..].iter().zip(&centred[..n - lag]);
    products.map(|(later, earlier)| later * earlier).sum::<f64>() / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AR(1) with uniform innovations from Knuth's linear congruential generator: the same
    /// numbers in any language.
    fn autoregressive(length: usize, phi: f64, seed: u64) -> Vec<f64> {
        let (mut state, mut value) = (seed, 0.0);
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

    /// Expected values: `arch.bootstrap.optimal_block_length` (Python, arch 7), column
    /// `circular`, on the same series.
    #[test]
    fn agrees_with_the_python_package_arch_on_autoregressive_series() {
        for (length, phi, seed, expected) in [
            (200, 0.0, 1, 2.149_784_228_027_5),
            (200, 0.5, 2, 11.384_505_839_108_385),
            (600, 0.8, 3, 19.807_438_070_051_628),
            (1000, -0.5, 4, 10.712_342_940_538_672),
            (6000, 0.3, 5, 16.544_889_923_513_708),
            (180, 0.95, 6, 22.419_634_236_982_5),
            (2000, 0.9, 7, 50.740_487_653_710_25),
        ] {
            let found = optimal(&autoregressive(length, phi, seed));
            assert!((found - expected).abs() < 1e-6, "n {length}, phi {phi}: {found}");
        }
    }

    #[test]
    fn gives_a_periodic_series_the_longest_blocks_that_are_allowed() {
        let wave: Vec<f64> =
            (0..300).map(|step| (f64::from(step) * std::f64::consts::TAU / 20.0).sin()).collect();
        assert_eq!(optimal(&wave), 52.0);
    }

    #[test]
    fn needs_no_blocks_for_a_constant_or_a_very_short_series() {
        assert_eq!(optimal(&[0.1; 500]), 1.0);
        assert_eq!(optimal(&[1.0, 2.0, 3.0]), 1.0);
    }
}
