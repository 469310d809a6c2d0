//! The price of an option in single precision (Black and Scholes 1973), written so that it can be
//! vectorized: no branch, no call.

use super::options::Columns;
use crate::vectors::widest;

/// Prices all `options` into `prices`.
pub(super) fn price(options: &Columns<'_>, prices: &mut [f32]) {
    widest(
        #[inline(always)]
        || {
            // Slices of one length let the compiler see that no index is out of bounds.
            let Columns { spot, strike, rate, volatility, time, put } = *options;
            let len = prices.len();
            let (spot, strike, rate) = (&spot[..len], &strike[..len], &rate[..len]);
            let (volatility, time, put) = (&volatility[..len], &time[..len], &put[..len]);
            for i in 0..len {
                prices[i] = one(spot[i], strike[i], rate[i], volatility[i], time[i], put[i]);
            }
        },
    );
}

#[inline(always)]
fn one(spot: f32, strike: f32, rate: f32, volatility: f32, time: f32, put: u32) -> f32 {
    // Without time or volatility the price is the current payoff: the limit.
    let spread = (volatility * time.sqrt()).max(1e-18);
    let d1 = (ln(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread;
    let d2 = d1 - spread;
    let (n1, n2) = (normal(d1), normal(d2));
    let discounted = strike * exp(-rate * time);
    let call = spot * n1 - discounted * n2;
    let other = discounted * (1.0 - n2) - spot * (1.0 - n1);
    if put == 0 { call } else { other }
}

/// The normal distribution by formula 26.2.17 of Abramowitz and Stegun, to 7.5e-8.
#[inline(always)]
fn normal(x: f32) -> f32 {
    const DENSITY_AT_0: f32 = 0.398_942_3;
    let distance = x.abs();
    let k = 1.0 / (1.0 + 0.231_641_9 * distance);
    let tail = 1.330_274_4_f32;
    let tail = tail * k - 1.821_256;
    let tail = tail * k + 1.781_477_9;
    let tail = tail * k - 0.356_563_78;
    let tail = (tail * k + 0.319_381_54) * k;
    let above = DENSITY_AT_0 * exp(-0.5 * distance * distance) * tail;
    if x < 0.0 { above } else { 1.0 - above }
}

/// e to the power of `x` for `x` up to 88, with a relative error of about 1e-7: `x` is split into a
/// multiple of `ln 2` and a remainder, for which the series is short. Far below zero the result is
/// nearly zero.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding this rounds to an integer, which is then in the lowest bits of the sum.
    const TO_INTEGER: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + TO_INTEGER;
    let whole = shifted - TO_INTEGER;
    let rest = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
    let series = 1.0 / 5040.0;
    let series = series * rest + 1.0 / 720.0;
    let series = series * rest + 1.0 / 120.0;
    let series = series * rest + 1.0 / 24.0;
    let series = series * rest + 1.0 / 6.0;
    let series = series * rest + 0.5;
    let series = series * rest + 1.0;
    let series = series * rest + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    series * power
}

/// The natural logarithm of a positive number, with an absolute error of about 1e-7: the exponent
/// is split off, and `ln((1 + s) / (1 - s)) = 2 (s + s^3/3 + ..)` converges fast for the remainder.
#[inline(always)]
fn ln(x: f32) -> f32 {
    // The remainder lies between the square roots of one half and of two.
    const ROOT_OF_HALF: u32 = 0x3F35_04F3;
    let bits = x.to_bits();
    let exponent = (bits.wrapping_sub(ROOT_OF_HALF) as i32) >> 23;
    let rest = f32::from_bits(bits.wrapping_sub((exponent as u32) << 23));
    let s = (rest - 1.0) / (rest + 1.0);
    let square = s * s;
    let series = 2.0 / 9.0;
    let series = series * square + 2.0 / 7.0;
    let series = series * square + 2.0 / 5.0;
    let series = series * square + 2.0 / 3.0;
    let series = series * square + 2.0;
    exponent as f32 * std::f32::consts::LN_2 + s * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prices_are_those_of_the_reference_to_the_error_of_single_precision() {
        // S, K, r, v, T, put; the reference program's price and the closed form.
        let vectors = [
            (42.0, 40.0, 0.1, 0.2, 0.5, 0, 4.759_420_4, 4.759_422_393),
            (42.0, 40.0, 0.1, 0.2, 0.5, 1, 0.808_597_56, 0.808_599_373),
            (100.0, 100.0, 0.05, 0.15, 1.0, 1, 3.714_603_4, 3.714_600_762),
            (100.0, 100.0, 0.05, 0.15, 1.0, 0, 8.591_663, 8.591_658_312),
            (60.0, 65.0, 0.08, 0.3, 0.25, 0, 2.133_379, 2.133_368_445),
        ];
        for (s, k, r, v, t, put, reference, exact) in vectors {
            let price = f64::from(one(s, k, r, v, t, put));
            assert!((price - reference).abs() <= 2.75e-5, "{price} for {reference}");
            assert!((price - exact).abs() <= 2.75e-5, "{price} for {exact}");
        }
    }

    #[test]
    fn half_of_the_distribution_lies_below_zero() {
        assert!((normal(0.0) - 0.5).abs() <= 6e-8, "{}", normal(0.0));
        assert!(normal(-40.0) >= 0.0 && normal(-40.0) < 1e-20);
        assert_eq!(normal(40.0), 1.0);
    }

    #[test]
    fn without_time_or_volatility_an_option_is_worth_what_it_pays() {
        for (volatility, time) in [(0.2, 0.0), (0.0, 0.0)] {
            assert_eq!(one(110.0, 100.0, 0.05, volatility, time, 0), 10.0);
            assert_eq!(one(90.0, 100.0, 0.05, volatility, time, 0), 0.0);
            assert_eq!(one(90.0, 100.0, 0.05, volatility, time, 1), 10.0);
            assert_eq!(one(100.0, 100.0, 0.05, volatility, time, 1), 0.0);
        }
    }

    proptest! {
        #[test]
        fn exp_and_ln_err_by_less_than_a_few_units_of_single_precision(x in -80.0_f32..80.0) {
            let exact = f64::from(x).exp();
            prop_assert!((f64::from(exp(x)) / exact - 1.0).abs() < 4e-7);
            let y = x.exp();
            prop_assert!((f64::from(ln(y)) - f64::from(y).ln()).abs() < 3e-7 * (1.0 + f64::from(x.abs())));
        }

        #[test]
        fn a_call_less_a_put_is_the_spot_less_the_discounted_strike(
            s in 10.0_f32..200.0, k in 10.0_f32..200.0, r in 0.0_f32..0.2,
            v in 0.05_f32..0.9, t in 0.02_f32..3.0,
        ) {
            let parity = f64::from(one(s, k, r, v, t, 0)) - f64::from(one(s, k, r, v, t, 1));
            let exact = f64::from(s) - f64::from(k) * (-f64::from(r) * f64::from(t)).exp();
            prop_assert!((parity - exact).abs() < 1e-4, "{parity} for {exact}");
        }

        #[test]
        fn an_option_is_worth_more_the_less_is_certain(v in 0.05_f32..0.8, put in 0_u32..2) {
            let less = one(90.0, 100.0, 0.03, v, 0.7, put);
            let more = one(90.0, 100.0, 0.03, v + 0.05, 0.7, put);
            prop_assert!(more > less - 1e-5, "{less} then {more}");
        }
    }
}
