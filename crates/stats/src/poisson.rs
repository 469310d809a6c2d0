//! Poisson limits for groups served in few slices.
//!
//! A group that was served in a few slices, or in none, may have been lucky or unlucky with the
//! edges of the window, which the scatter of its few slices cannot show. If slices come at random,
//! their number is Poisson, and so are its limits (for none at 95 %: 3.7, the "rule of three").

use super::estimate::{Estimate, Range};
use super::student::normal_quantile;
use super::within::Within;

/// With fewer slices a mean over them is not close to normal.
const MIN_SLICES: f64 = 10.0;

/// The effective number of steps over which an amount is spread, `(sum x)^2 / sum x^2`: all of them
/// when each step got the same, one when one step got it all.
pub fn effective(increments: &[f64]) -> f64 {
    let sum: f64 = increments.iter().sum();
    let squares: f64 = increments.iter().map(|value| value * value).sum();
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// The wider of the interval and the Poisson limits, where the group had few slices. A slice is
/// assumed to be the largest amount of any group in one step. `all` is the confidence of one of
/// several simultaneous intervals.
pub fn widened(
    repeats: &[Within],
    group: usize,
    (confidence, all): (f64, f64),
    seen: Estimate,
) -> Estimate {
    let turns: f64 = repeats.iter().map(|repeat| repeat.turns[group]).sum();
    let quantum = repeats.iter().map(|repeat| repeat.quantum).fold(0.0, f64::max);
    if turns >= MIN_SLICES || quantum <= 0.0 {
        return seen;
    }
    let count = repeats.len() as f64;
    // The number of slices over all repeats.
    let worth = seen.value * count / quantum;
    let limits = |sure: f64| {
        let quantile = normal_quantile(sure);
        Range {
            low: poisson_low(worth, quantile) * quantum / count,
            high: poisson_high(worth, quantile) * quantum / count,
        }
    };
    let (one, all) = (limits(confidence), limits(all));
    match turns > 0.0 {
        true => seen.with(one, all),
        // A group that was never served has no scatter to compare these limits with.
        false => Estimate { value: seen.value, low: one.low, high: one.high, broken: all },
    }
}

/// The upper limit of a Poisson mean where nothing was seen, the "rule of three".
pub fn most_of_none(confidence: f64) -> f64 {
    poisson_high(0.0, normal_quantile(confidence))
}

/// Limits of a Poisson mean by the cube root of Wilson and Hilferty (1931), within 1 % of the exact
/// ones of Garwood from one event on.
pub(crate) fn poisson_high(events: f64, quantile: f64) -> f64 {
    let next = events + 1.0;
    next * (1.0 - 1.0 / (9.0 * next) + quantile / (3.0 * next.sqrt())).powi(3)
}

fn poisson_low(events: f64, quantile: f64) -> f64 {
    if events <= 0.0 {
        return 0.0;
    }
    let root = 1.0 - 1.0 / (9.0 * events) - quantile / (3.0 * events.sqrt());
    events * root.max(0.0).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(turns: f64, value: f64) -> Estimate {
        let (values, logs, errors) = (vec![value], vec![value.ln()], vec![0.001]);
        let (coarse, turns) = ((errors.clone(), 4.0), vec![turns]);
        let repeat = Within { values, logs, errors, freedom: 9.0, coarse, quantum: 0.01, turns };
        let seen = Estimate { value, ..Estimate::of_log(value.ln(), 0.0, 0.0) };
        widened(&[repeat], 0, (0.95, 0.975), seen)
    }

    #[test]
    fn a_starved_group_gets_the_rule_of_three() {
        let group = limits(0.0, 0.0);
        assert_eq!((group.value, group.low), (0.0, 0.0));
        assert!((group.high / 0.01 - 3.689).abs() < 0.03, "{group:?}");
        assert!(group.broken.high > group.high);
    }

    #[test]
    fn a_group_of_few_slices_has_wider_limits_than_its_scatter() {
        let group = limits(3.0, 0.03);
        // Three events: the exact limits of Garwood are 0.619 and 8.767.
        assert!((group.value - 0.03).abs() < 1e-12);
        assert!((group.low / 0.01 - 0.619).abs() < 0.03, "{group:?}");
        assert!((group.high / 0.01 - 8.767).abs() < 0.03, "{group:?}");
        assert!((limits(200.0, 0.05).low - 0.05).abs() < 1e-12);
    }
}
