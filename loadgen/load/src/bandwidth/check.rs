//! Checks that the arrays hold the values the loops must have produced: STREAM's own check.

use super::kernels::{Kernel, Part};

/// Initial values of the arrays: 1, 2 and 0, the first doubled, as STREAM does when it starts.
pub(super) const INITIAL: [f64; 3] = [2.0, 2.0, 0.0];
/// Largest allowed mean error of an array, relative to the expected value.
pub(super) const TOLERANCE: f64 = 1e-13;
/// Values grow fifteenfold each round. After this many rounds they are reset, far from infinity.
pub(super) const ROUNDS: u64 = 200;

/// Writes the initial values.
pub(super) fn fill(part: &mut Part<'_>) {
    let Part { a, b, c } = part;
    for (array, begin) in [a, b, c].into_iter().zip(INITIAL) {
        array.fill(begin);
    }
}

/// The three expected values after some rounds of the loops.
pub(super) fn expected(kernels: &[Kernel], rounds: u64) -> [f64; 3] {
    (0..rounds).fold(INITIAL, |numbers, _| {
        kernels.iter().fold(numbers, |numbers, kernel| kernel.apply(numbers))
    })
}

/// Sums of the absolute errors for each array.
pub(super) fn errors(part: &Part<'_>, expected: [f64; 3]) -> [f64; 3] {
    let sum = |array: &[f64], expected: f64| {
        array.iter().map(|number| (number - expected).abs()).sum::<f64>()
    };
    let Part { a, b, c } = part;
    [sum(a, expected[0]), sum(b, expected[1]), sum(c, expected[2])]
}

/// The largest mean relative error of an array; `sums` are over `items` values. Where 0 is
/// expected, the mean absolute error. NaN if the arrays hold NaN.
pub(super) fn relative(sums: [f64; 3], items: u64, expected: [f64; 3]) -> f64 {
    let each = sums.into_iter().zip(expected).map(|(sum, expected)| {
        let mean = sum / items as f64;
        if expected == 0.0 { mean } else { mean / expected.abs() }
    });
    each.fold(0.0, worse)
}

/// The larger of two errors; NaN counts as the largest.
pub(super) fn worse(one: f64, other: f64) -> f64 {
    if one.is_nan() || other <= one { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bandwidth::kernels::Stores;

    /// By hand: c = 2, b = 6, c = 8, a = 6 + 24 = 30; then everything times fifteen.
    #[test]
    fn a_round_of_all_four_multiplies_by_fifteen() {
        assert_eq!(expected(&Kernel::ALL, 1), [30.0, 6.0, 8.0]);
        assert_eq!(expected(&Kernel::ALL, 2), [450.0, 90.0, 120.0]);
        assert!(expected(&Kernel::ALL, ROUNDS)[0].is_finite());
    }

    #[test]
    fn one_wrong_value_in_a_thousand_is_detected() {
        let mut arrays = [vec![0.0; 1000], vec![0.0; 1000], vec![0.0; 1000]];
        let [a, b, c] = &mut arrays;
        let mut part = Part { a, b, c };
        fill(&mut part);
        for _ in 0..3 {
            Kernel::ALL.iter().for_each(|kernel| part.run(*kernel, Stores::Streaming));
        }
        let right = expected(&Kernel::ALL, 3);
        assert_eq!(relative(errors(&part, right), 1000, right), 0.0);
        part.b[417] *= 1.0 + 1e-9;
        assert!(relative(errors(&part, right), 1000, right) > TOLERANCE);
        part.b[417] = f64::NAN;
        assert!(relative(errors(&part, right), 1000, right).is_nan());
    }
}
