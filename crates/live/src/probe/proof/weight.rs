//! Weights: copy and twin share what their weights say, and half each where those are equal.

use assay_conform::{Interval, Window};

use super::Proof;

/// Of a share, relative to itself.
const MARGIN: f64 = 0.15;
/// The part of the copy where the twin has three times its weight, and where both have the same.
const DIVIDED: f64 = 0.25;
const EQUAL: f64 = 0.5;

/// Judges what copy and twin got of `what` with weights of `low` and three times that, and with `low` for both. `where_lost` ends the
/// reason why it is not enforced.
pub(super) fn judge(
    [divided, equal]: [&[Window]; 2],
    low: u64,
    what: &str,
    where_lost: &str,
) -> Proof {
    let share = |windows: &[Window]| {
        let shares: Vec<f64> =
            windows.iter().filter_map(|window| Some(window.shares()?[0])).collect();
        Interval::of_mean(&shares)
    };
    let (divided, equal) = (share(divided), share(equal));
    let within = |share: Interval, due: f64| {
        share.low > due * (1.0 - MARGIN) && share.high < due * (1.0 + MARGIN)
    };
    let weights = format!("weights {low} and {}", 3 * low);
    let seen = format!("{weights} on {what}: share {divided}, {DIVIDED} by weight");
    let twin = format!("weights {low} and {low}: share {equal}, {EQUAL} by weight");
    let proof = if within(divided, DIVIDED) && within(equal, EQUAL) {
        return Proof::enforced(seen).with(twin);
    } else if within(equal, EQUAL) && divided.low > DIVIDED * (1.0 + MARGIN) {
        Proof::not_enforced(format!("{weights} do not divide {what} 1:3{where_lost}"))
    } else {
        Proof::not_provable("the shares vary too much")
    };
    proof.with(seen).with(twin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Verdict;

    #[test]
    fn weights_need_both_ratios() {
        let windows = |grew: [f64; 2]| vec![Window { seconds: 1.0, grew: grew.to_vec() }; 6];
        let verdict =
            |divided, equal| judge([&windows(divided), &windows(equal)], 2, "a CPU", "").verdict;
        assert_eq!(verdict([0.25, 0.75], [0.5, 0.5]), Verdict::Enforced);
        assert_eq!(verdict([0.5, 0.5], [0.5, 0.5]), Verdict::NotEnforced);
        assert_eq!(verdict([0.3, 0.7], [0.4, 0.6]), Verdict::NotProvable);
    }
}
