//! Closed-form results: caps of the request pool, the knee of a ladder of weights, Jain's index.

use assay_judge::request_cap;

/// Requests of a pool that each group may hold under BFQ since 5.17 (76f1df88bbc2): proportional to its
/// weight, rounded, and at least one.
#[must_use]
pub fn capped(pool: f64, weights: &[f64]) -> Vec<f64> {
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| request_cap(pool, *weight, all).max(1.0)).collect()
}

/// The number of groups from which on rounding merges the lightest classes of a ladder of weights:
/// `P w_min / (0.75 w_mean)`.
#[must_use]
pub fn ladder_knee(pool: f64, weights: &[f64]) -> f64 {
    let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
    pool * least / (0.75 * mean)
}

/// Jain's index of shares relative to expected shares; 1 is exact proportionality.
#[must_use]
pub fn weighted_jain(shares: &[f64], expected: &[f64]) -> f64 {
    let parts = shares.iter().zip(expected).map(|(share, owed)| share / owed);
    let (sum, squares) = parts.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 0.0 }
}

/// Divides `whole` among `(weight, demand)`: by weight, at most the demand, and what is left over divided
/// again (weighted max-min fairness).
pub(crate) fn max_min(whole: f64, siblings: &[(f64, f64)]) -> Vec<f64> {
    let mut parts: Vec<Option<f64>> = vec![None; siblings.len()];
    loop {
        let remaining = whole - parts.iter().flatten().sum::<f64>();
        let open: Vec<usize> = (0..parts.len()).filter(|index| parts[*index].is_none()).collect();
        let weights: f64 = open.iter().map(|index| siblings[*index].0).sum();
        let part = |index: usize| {
            if weights > 0.0 { remaining * siblings[index].0 / weights } else { 0.0 }
        };
        let full: Vec<usize> =
            open.iter().copied().filter(|index| part(*index) > siblings[*index].1).collect();
        if full.is_empty() {
            return (0..parts.len()).map(|index| parts[index].unwrap_or(part(index))).collect();
        }
        for index in full {
            parts[index] = Some(siblings[index].1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(groups: usize) -> Vec<f64> {
        [1.0, 2.0, 4.0, 8.0].into_iter().cycle().take(groups).collect()
    }

    #[test]
    fn caps_of_a_small_pool_merge_the_lightest_classes_first() {
        assert_eq!(capped(64.0, &ladder(16))[..4], [1.0, 2.0, 4.0, 9.0]);
        assert_eq!(capped(64.0, &ladder(32))[..4], [1.0, 1.0, 2.0, 4.0]);
        assert_eq!(capped(64.0, &ladder(128))[..4], [1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn the_knee_of_the_caps_matches_the_formula() {
        let knees: Vec<f64> =
            [32.0, 64.0, 128.0, 256.0].iter().map(|pool| ladder_knee(*pool, &ladder(4))).collect();
        assert_eq!(
            knees.iter().map(|knee| knee.round()).collect::<Vec<_>>(),
            [11.0, 23.0, 46.0, 91.0]
        );
    }

    #[test]
    fn equal_shares_score_two_thirds() {
        let owed: Vec<f64> = ladder(4).iter().map(|weight| weight / 15.0).collect();
        assert!((weighted_jain(&[0.25; 4], &owed) - 0.662).abs() < 0.001);
        assert!((weighted_jain(&owed, &owed) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn unused_parts_are_divided_by_weight() {
        let parts = max_min(2.0, &[(1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (8.0, 1.0)]);
        for (part, expected) in parts.iter().zip([1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0, 1.0]) {
            assert!((part - expected).abs() < 1e-12);
        }
    }
}
