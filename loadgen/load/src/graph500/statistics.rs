//! Statistics over the searches: as computed by each version of the reference, and correct
//! quartiles.

/// Five-number summary, mean and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Summary {
    pub(super) min: f64,
    pub(super) first_quartile: f64,
    pub(super) median: f64,
    pub(super) third_quartile: f64,
    pub(super) max: f64,
    pub(super) mean: f64,
    /// With n - 1 in the denominator; NaN for one value.
    pub(super) deviation: f64,
}

/// How quartiles are computed from sorted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quartiles {
    /// At (n + 1) p, counted from 1, as intended by 2.1.4.
    Right,
    /// As in 2.1.4: the same position used as an index from 0, which is one too high.
    OneTooHigh,
    /// As in 3.0: the mean of two neighbours.
    Pairs,
}

/// Summarizes values; at least one.
pub(super) fn summary(values: &[f64], quartiles: Quartiles) -> Summary {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (count, last) = (sorted.len() as f64, sorted.len().saturating_sub(1));
    let at = |index: usize| sorted.get(index.min(last)).copied().unwrap_or(f64::NAN);
    let [first_quartile, median, third_quartile] = [1, 2, 3].map(|quarters| match quartiles {
        Quartiles::Right => between(&at, last + 1, quarters),
        Quartiles::OneTooHigh => one_too_high(&at, last + 1, quarters),
        Quartiles::Pairs => pair_mean(&at, last, quarters),
    });
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Summary {
        min: at(0),
        first_quartile,
        median,
        third_quartile,
        max: at(last),
        mean,
        deviation: (squares / (count - 1.0)).sqrt(),
    }
}

/// The value at (n + 1) p from 1, interpolated if that is not an integer.
fn between(at: &impl Fn(usize) -> f64, count: usize, quarters: usize) -> f64 {
    let position = (quarters * (count + 1)) as f64 / 4.0 - 1.0;
    let (below, part) = (position.max(0.0).floor(), position.max(0.0).fract());
    at(below as usize) * (1.0 - part) + at(below as usize + 1) * part
}

/// The same position from 0, with the weights for 64 values regardless of their number. Where 2.1.4
/// reads beyond its array, this is the last value.
fn one_too_high(at: &impl Fn(usize) -> f64, count: usize, quarters: usize) -> f64 {
    let (below, rest) = (quarters * (count + 1) / 4, quarters * (count + 1) % 4);
    if rest == 0 {
        return at(below);
    }
    let upper = quarters as f64 / 4.0;
    at(below) * (1.0 - upper) + at(below + 1) * upper
}

fn pair_mean(at: &impl Fn(usize) -> f64, last: usize, quarters: usize) -> f64 {
    let count = last + 1;
    let (low, high) = match quarters {
        1 => (last / 4, count / 4),
        2 => (last / 2, count / 2),
        _ => (last - last / 4, last - (count / 4).min(last)),
    };
    (at(low) + at(high)) * 0.5
}

/// Harmonic mean and its standard deviation (Norris 1940): the mean of rates. The inverse of zero
/// counts as zero, as in the reference.
pub(super) fn harmonic(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let inverse = |value: &f64| if *value == 0.0 { 0.0 } else { 1.0 / value };
    let sum: f64 = values.iter().map(inverse).sum();
    let (mean, mean_inverse) = (count / sum, sum / count);
    let squares: f64 = values.iter().map(|value| (inverse(value) - mean_inverse).powi(2)).sum();
    (mean, mean * mean * squares.sqrt() / (count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: u32) -> Vec<f64> {
        (1..=count).rev().map(f64::from).collect()
    }

    /// The vector of the reference sheet.
    #[test]
    fn the_harmonic_mean_and_its_deviation_are_those_of_norris() {
        let (mean, deviation) = harmonic(&[1.0, 2.0, 4.0]);
        assert!((mean - 12.0 / 7.0).abs() < 1e-12);
        assert!((deviation - 0.793_560).abs() < 1e-6, "{deviation}");
        assert_eq!(harmonic(&[0.0, 2.0]).0, 4.0);
    }

    /// With 64 values the positions are 16.25, 32.5 and 48.75 from 1.
    #[test]
    fn quartiles_are_right_one_too_high_or_between_pairs() {
        let of = |quartiles| {
            let result = summary(&counted(64), quartiles);
            [result.first_quartile, result.median, result.third_quartile]
        };
        assert_eq!(of(Quartiles::Right), [16.25, 32.5, 48.75]);
        assert_eq!(of(Quartiles::OneTooHigh), [17.25, 33.5, 49.75]);
        assert_eq!(of(Quartiles::Pairs), [16.5, 32.5, 48.5]);
    }

    #[test]
    fn few_values_have_quartiles_too() {
        for quartiles in [Quartiles::Right, Quartiles::OneTooHigh, Quartiles::Pairs] {
            let result = summary(&[5.0], quartiles);
            assert_eq!([result.min, result.first_quartile, result.median, result.max], [5.0; 4]);
            assert!(result.deviation.is_nan());
            let result = summary(&counted(3), quartiles);
            assert!(result.third_quartile <= result.max && result.first_quartile >= result.min);
        }
        assert_eq!(summary(&counted(3), Quartiles::Right).median, 2.0);
    }

    #[test]
    fn mean_and_deviation_agree_with_a_calculation_by_hand() {
        let result = summary(&[4.0, 5.0, 6.0], Quartiles::Right);
        assert_eq!((result.mean, result.deviation), (5.0, 1.0));
    }
}
