//! Spread of a number over hosts: one value per host, Student's t over the hosts.

use assay_host::facts::Available;
use assay_judge::verdict::{Extreme, Spread};
use assay_stats::over_repeats::Spread as LogSpread;

/// One value per host.
pub(crate) type ValuesByHost = Vec<(String, f64)>;

/// Confidence of the intervals over hosts.
const CONFIDENCE: f64 = 0.95;

/// The geometric mean, for numbers that vary by factors.
pub(crate) fn of_ratios(numbers: &ValuesByHost) -> Available<Spread> {
    if let Some((node, _)) = numbers.iter().find(|(_, value)| *value <= 0.0) {
        return Available::NotAvailable(format!("it is 0 on {node}, so no ratio can be computed"));
    }
    let logs: Vec<f64> = numbers.iter().map(|(_, value)| value.ln()).collect();
    finish(numbers, LogSpread::from_logs(&logs).map(|spread| spread.interval(CONFIDENCE)))
}

/// The arithmetic mean, for numbers that may be 0 but not negative.
pub(crate) fn of_amounts(numbers: &ValuesByHost) -> Available<Spread> {
    let values: Vec<f64> = numbers.iter().map(|(_, value)| *value).collect();
    let spread = LogSpread::from_logs(&values).map(|spread| {
        let half = spread.half(CONFIDENCE);
        (spread.mean, (spread.mean - half).max(0.0), spread.mean + half)
    });
    finish(numbers, spread)
}

fn finish(numbers: &ValuesByHost, spread: Option<(f64, f64, f64)>) -> Available<Spread> {
    let by_value = |a: &&(String, f64), b: &&(String, f64)| a.1.total_cmp(&b.1);
    let extreme = |(node, value): &(String, f64)| Extreme { node: node.clone(), value: *value };
    let (lowest, highest) = (numbers.iter().min_by(by_value), numbers.iter().max_by(by_value));
    let (Some((value, low, high)), Some(lowest), Some(highest)) = (spread, lowest, highest) else {
        return Available::NotAvailable("no host has a conclusive value".to_owned());
    };
    // Numbers of a host may be anything.
    if !value.is_finite() || !highest.1.is_finite() {
        return Available::NotAvailable(format!("the number of {} is too large", highest.0));
    }
    let bounded = low.is_finite() && high.is_finite();
    Available::Value(Spread {
        hosts: numbers.len(),
        value,
        low: bounded.then_some(low),
        high: bounded.then_some(high),
        ratio: (lowest.1 > 0.0).then(|| highest.1 / lowest.1).filter(|ratio| ratio.is_finite()),
        lowest: extreme(lowest),
        highest: extreme(highest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(values: &[f64]) -> ValuesByHost {
        ["a", "b", "c"].map(str::to_owned).into_iter().zip(values.iter().copied()).collect()
    }

    #[test]
    fn three_hosts_give_a_mean_an_interval_and_extremes() {
        let spread = of_ratios(&on(&[90.0, 100.0, 1e4 / 90.0]));
        let spread = spread.value().unwrap();
        assert!((spread.value - 100.0).abs() < 1e-9);
        // t(2) at 95 % is 4.3027; the logarithms are -d, 0, d.
        let half = 4.3027 * (10.0_f64 / 9.0).ln() / 3.0_f64.sqrt();
        assert!((spread.high.unwrap().ln() - 100.0_f64.ln() - half).abs() < 1e-4);
        assert_eq!((spread.lowest.node.as_str(), spread.highest.node.as_str()), ("a", "c"));
        assert!((spread.ratio.unwrap() - 1e4 / 8100.0).abs() < 1e-9);
        let one = of_ratios(&on(&[5.0]));
        assert_eq!(one.value().map(|one| (one.low, one.ratio)), Some((None, Some(1.0))));
        assert_eq!(of_amounts(&on(&[])).reason(), Some("no host has a conclusive value"));
    }

    /// JSON has no infinity, and what is written in its place no reader of the document takes.
    #[test]
    fn no_spread_is_infinite() {
        let huge = on(&[f64::MAX, f64::MAX, f64::MIN_POSITIVE]);
        for spread in [of_amounts(&huge), of_ratios(&on(&[f64::INFINITY, 1.0]))] {
            assert!(spread.reason().unwrap().contains("too large"), "{spread:?}");
        }
        assert_eq!(of_ratios(&huge).value().unwrap().ratio, None);
    }

    #[test]
    fn a_zero_is_an_amount_but_has_no_ratio() {
        let numbers = on(&[0.0, 0.02]);
        assert!(of_ratios(&numbers).reason().unwrap().contains("on a"));
        let spread = of_amounts(&numbers);
        let spread = spread.value().unwrap();
        assert_eq!((spread.low, spread.ratio), (Some(0.0), None));
    }
}
