//! Checks the prices: against the closed form in double precision, against put-call parity, and by
//! pricing once more.

use statrs::function::erf::erfc;

use super::options::{Entry, Options};
use super::price::price;
use crate::failure::Failure;

/// Largest difference of a price from the one in the table that the original allows.
pub(super) const TOLERANCE: f64 = 1e-4;

/// The largest errors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Checked {
    /// Error against the closed form, for a strike of 100.
    pub(super) price: f64,
    /// Error of the put-call parity, for a strike of 100.
    pub(super) parity: f64,
    /// Prices that differ by more than [`TOLERANCE`] from the reference in their file; `None`
    /// without `--references`.
    pub(super) unlike_reference: Option<u64>,
}

/// The closed form, in double precision.
pub(super) fn exact(option: &Entry) -> f64 {
    let [spot, strike, rate, volatility, time] =
        [option.spot, option.strike, option.rate, option.volatility, option.time].map(f64::from);
    let discounted = strike * (-rate * time).exp();
    let spread = volatility * time.sqrt();
    let sign = if option.put { -1.0 } else { 1.0 };
    if spread == 0.0 {
        return (sign * (spot - discounted)).max(0.0);
    }
    let d1 = ((spot / strike).ln() + (rate + 0.5 * volatility * volatility) * time) / spread;
    let normal = |x: f64| 0.5 * erfc(-x / std::f64::consts::SQRT_2);
    sign * (spot * normal(sign * d1) - discounted * normal(sign * (d1 - spread)))
}

/// Checks every price. Fails with the first wrong one.
pub(super) fn check(options: &Options, prices: &[f32]) -> Result<Checked, Failure> {
    const STEP: usize = 4096;
    let mut checked = Checked::default();
    let (mut again, mut counterpart) = ([0.0_f32; STEP], [0.0_f32; STEP]);
    let mut kinds = [0_u32; STEP];
    for start in (0..options.len()).step_by(STEP) {
        let end = (start + STEP).min(options.len());
        let (again, counterpart) = (&mut again[..end - start], &mut counterpart[..end - start]);
        let columns = options.columns(start..end);
        price(&columns, again);
        for (kind, put) in kinds.iter_mut().zip(columns.put) {
            *kind = 1 - put;
        }
        price(&super::options::Columns { put: &kinds[..end - start], ..columns }, counterpart);
        for at in start..end {
            let (actual, once_more) = (prices[at], again[at - start]);
            if actual.to_bits() != once_more.to_bits() {
                return Err(wrong(options, at, actual, "another run gave", once_more.into()));
            }
            checked.check_one(options, at, actual.into(), counterpart[at - start].into())?;
        }
    }
    checked.unlike_reference = options.reference.as_ref().map(|references| {
        let differ = |(a, b): (&f32, &f32)| f64::from((a - b).abs()) > TOLERANCE;
        references.iter().zip(prices).filter(|pair| differ(*pair)).count() as u64
    });
    Ok(checked)
}

impl Checked {
    fn check_one(
        &mut self,
        options: &Options,
        at: usize,
        actual: f64,
        counterpart: f64,
    ) -> Result<(), Failure> {
        let option = options.get(at);
        // Single precision errs in proportion to the subtracted amounts.
        let scale = (f64::from(option.spot.max(option.strike)) / 100.0).max(1.0);
        let exact = exact(&option);
        let error = (actual - exact).abs() / scale;
        if !actual.is_finite() || error > TOLERANCE {
            return Err(wrong(options, at, actual as f32, "the closed form gives", exact));
        }
        let (call, put) = if option.put { (counterpart, actual) } else { (actual, counterpart) };
        let (rate, time) = (f64::from(option.rate), f64::from(option.time));
        let forward = f64::from(option.spot) - f64::from(option.strike) * (-rate * time).exp();
        let parity = (call - put - forward).abs() / scale;
        if parity > TOLERANCE {
            return Err(wrong(
                options,
                at,
                actual as f32,
                "parity with the other kind is off by",
                parity,
            ));
        }
        self.price = self.price.max(error);
        self.parity = self.parity.max(parity);
        Ok(())
    }
}

fn wrong(options: &Options, at: usize, actual: f32, source: &str, other: f64) -> Failure {
    Failure::Wrong(format!(
        "option {at} {:?} is priced {actual}, but {source} {other}",
        options.get(at)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsec::lrand48::Lrand48;
    use assay_sys::kernel::anonymous_memory::HugePages;

    fn priced(count: usize) -> (Options, Vec<f32>) {
        let mut options = Options::allocate(count, HugePages::System, false).unwrap();
        let mut random = Lrand48::seeded(3);
        for at in 0..count {
            options.set(at, super::super::options::draw(&mut random));
        }
        let mut prices = vec![0.0; count];
        price(&options.columns(0..count), &mut prices);
        (options, prices)
    }

    #[test]
    fn the_closed_form_is_that_of_the_vectors() {
        let option = |spot, strike, rate, volatility, time, put| Entry {
            spot,
            strike,
            rate,
            volatility,
            time,
            put,
            reference: 0.0,
        };
        let vectors = [
            (option(42.0, 40.0, 0.1, 0.2, 0.5, false), 4.759_422_393),
            (option(42.0, 40.0, 0.1, 0.2, 0.5, true), 0.808_599_373),
            (option(100.0, 100.0, 0.05, 0.15, 1.0, true), 3.714_600_762),
            (option(60.0, 65.0, 0.08, 0.3, 0.25, false), 2.133_368_445),
        ];
        // The inputs themselves are rounded to single precision here.
        for (option, price) in vectors {
            assert!((exact(&option) - price).abs() < 1e-6, "{option:?}: {}", exact(&option));
        }
    }

    #[test]
    fn correct_prices_are_well_within_the_tolerance() {
        let (options, prices) = priced(10_000);
        let checked = check(&options, &prices).unwrap();
        assert!(checked.price < 0.6 * TOLERANCE && checked.price > 0.0, "{checked:?}");
        assert!(checked.parity < TOLERANCE);
    }

    #[test]
    fn a_wrong_price_is_named() {
        let (options, mut prices) = priced(5000);
        prices[4321] += 0.01;
        let failure = check(&options, &prices).unwrap_err();
        assert_eq!(failure.exit_code(), 5);
        assert!(failure.to_string().contains("option 4321"), "{failure}");
    }
}
