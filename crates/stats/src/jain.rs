//! Weighted Jain's fairness index: `(sum x/w)^2 / (n * sum (x/w)^2)`.
//!
//! A summary, never the reason of a verdict: under weights 1:2:4:8 a collapse to equal shares still
//! gives 0.66, and one starved group among 128 hardly changes it.

/// The index of shares relative to the expected ones; `None` when the total is zero.
pub fn weighted(shares: &[f64], expected: &[f64]) -> Option<f64> {
    let mut sum = 0.0;
    let mut squares = 0.0;
    let mut groups = 0.0;
    for (share, expected) in shares.iter().zip(expected).filter(|(_, expected)| **expected > 0.0) {
        let served = share / expected;
        sum += served;
        squares += served * served;
        groups += 1.0;
    }
    (squares > 0.0).then(|| sum * sum / (groups * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by hand.
    #[test]
    fn gives_0_662_when_weights_1_2_4_8_collapse_to_equal_shares() {
        let collapsed = weighted(&[0.25; 4], &[1.0 / 15.0, 2.0 / 15.0, 4.0 / 15.0, 8.0 / 15.0]);
        assert!((collapsed.unwrap() - 0.662).abs() < 5e-4, "{collapsed:?}");
        let ladder = weighted(&[0.25; 4], &[0.1, 0.2, 0.3, 0.4]).unwrap();
        assert!((ladder - 0.762).abs() < 5e-4, "{ladder}");
    }

    #[test]
    fn is_one_for_perfect_shares_and_one_nth_when_one_takes_all() {
        assert!((weighted(&[0.2, 0.8], &[0.2, 0.8]).unwrap() - 1.0).abs() < 1e-12);
        assert!((weighted(&[0.0, 1.0], &[0.5, 0.5]).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(weighted(&[0.0, 0.0], &[0.5, 0.5]), None);
    }
}
