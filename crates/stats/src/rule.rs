//! The rule of verdicts, in full.
//!
//! A trial is `n` fresh starts; each gives every group one number `y`, its share (or rate) over what was
//! promised. After 8, 10, 14, 18 and 24 starts, with `mean` and `s` of a group's numbers:
//!
//! - *kept* if `mean +- t(n - 1; KEPT) s / sqrt(n)` of every group lies within the margin,
//! - *broken* if `mean +- t(n - 1; BROKEN / groups) s / sqrt(n)` of some group lies outside,
//! - otherwise the next look; after the last one *undecided*.
//!
//! Kept needs no correction for many groups, since all must be inside (Schuirmann 1987; Berger and Hsu
//! 1996); broken does, since one of many may be outside by chance (Bonferroni). At the edge of the margin all looks
//! together call a group kept in 1 % and broken in 0.5 % of the runs (`examples/cells.rs`).
//!
//! What is no mean (latencies, metrics, placements, spans) is judged by the fraction of starts that are
//! inside, whatever its distribution: the exact binomial limits of Clopper and Pearson (1934).

use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF, Gamma};

use crate::student::t_upper;

/// The numbers of starts after which a trial may end.
pub const LOOKS: [usize; 5] = [8, 10, 14, 18, 24];

/// Fewer starts are facts, and no verdict.
pub const FEWEST: usize = LOOKS[0];

/// The starts of a trial, unless the study says otherwise.
pub const MOST: usize = LOOKS[4];

/// Probability of each look to call kept what is at an edge of the margin.
pub const KEPT: f64 = 0.01 / 4.0;

/// The same for broken, over all groups.
pub const BROKEN: f64 = 0.005 / 4.0;

/// A fraction of the starts is to be inside: so many.
pub const MOST_STARTS: f64 = 0.75;

/// Probability to call such a fraction kept although it is smaller.
pub const FRACTION_KEPT: f64 = 0.006;

/// The same for broken although it is not smaller.
pub const FRACTION_BROKEN: f64 = 0.001;

/// A group with fewer service slices in all starts together has the limits of a count.
const FEW: f64 = 10.0;

/// Bounds of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The lower one.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

/// A number over all starts, with the bounds that decide about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean of the starts.
    pub value: f64,
    /// The lower bound for kept.
    pub low: f64,
    /// The upper bound for kept.
    pub high: f64,
    /// The bounds for broken.
    pub broken: Range,
}

impl Estimate {
    fn new(value: f64, kept: Range, broken: Range) -> Self {
        Self { value, low: kept.low, high: kept.high, broken }
    }
}

/// The part of the errors that runs judged together may spend, so that all times that one may do so have no more
/// than one run: 1/2 of two runs, 1/6 of three, 1/(R (R - 1)) of R, whose sum is 1.
#[must_use]
pub fn part_of_together(runs: usize) -> f64 {
    if runs < 2 { 1.0 } else { 1.0 / (runs * (runs - 1)) as f64 }
}

/// The mean of one group's numbers of the starts, one of so many groups, with a part of the errors; the bounds of
/// fewer than [`FEWEST`] are infinite.
#[must_use]
pub fn mean(numbers: &[f64], groups: usize, part: f64) -> Estimate {
    let count = numbers.len() as f64;
    let value = numbers.iter().sum::<f64>() / count.max(1.0);
    let bounds = |wrong: f64| {
        let half = match numbers.len() < FEWEST {
            true => f64::INFINITY,
            false => {
                let squares: f64 = numbers.iter().map(|one| (one - value).powi(2)).sum();
                t_upper(wrong, count - 1.0) * (squares / (count - 1.0) / count).sqrt()
            }
        };
        Range { low: value - half, high: value + half }
    };
    Estimate::new(value, bounds(part * KEPT), bounds(part * BROKEN / groups.max(1) as f64))
}

/// The same for what cannot be negative. A group that was served in a few slices of size `slice` (as a part of the sum
/// over all starts), or in none, may have been lucky or unlucky with the edges of the windows, which the scatter of
/// so few does not show: their number is Poisson, with the exact limits of Garwood (1936).
#[must_use]
pub fn amount(numbers: &[f64], groups: usize, part: f64, (slices, slice): (f64, f64)) -> Estimate {
    let all = mean(numbers, groups, part);
    if numbers.len() < FEWEST || slices >= FEW || slice <= 0.0 {
        let positive = |range: Range| Range { low: range.low.max(0.0), ..range };
        return Estimate { low: all.low.max(0.0), broken: positive(all.broken), ..all };
    }
    let unit = slice / numbers.len() as f64;
    let limits = |wrong: f64| {
        let Range { low, high } = poisson(all.value / unit, wrong);
        Range { low: low * unit, high: high * unit }
    };
    Estimate::new(all.value, limits(part * KEPT), limits(part * BROKEN / groups.max(1) as f64))
}

/// Limits of a Poisson mean, each of which is wrong with this probability.
#[must_use]
pub fn poisson(events: f64, wrong: f64) -> Range {
    let quantile = |shape: f64, upper: f64| match shape > 0.0 {
        true => Gamma::new(shape, 1.0).map_or(f64::INFINITY, |gamma| gamma.inverse_cdf(upper)),
        false => 0.0,
    };
    Range { low: quantile(events, wrong), high: quantile(events + 1.0, 1.0 - wrong) }
}

/// Starts that were inside, of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starts {
    /// Inside.
    pub inside: usize,
    /// All.
    pub of: usize,
}

/// What a fraction of starts decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fraction {
    /// At least [`MOST_STARTS`] are inside.
    Kept,
    /// Fewer are.
    Broken,
    /// More starts are needed to tell.
    Open,
}

impl Starts {
    /// Counts them.
    pub fn count(starts: impl IntoIterator<Item = bool>) -> Self {
        let add =
            |sum: Self, inside| Self { inside: sum.inside + usize::from(inside), of: sum.of + 1 };
        starts.into_iter().fold(Self { inside: 0, of: 0 }, add)
    }

    /// Another start is inside with at least this probability, at 95 %.
    #[must_use]
    pub fn another_at_least(self) -> f64 {
        let (inside, outside) = (self.inside as f64, (self.of - self.inside) as f64);
        if self.inside == 0 {
            return 0.0;
        }
        Beta::new(inside, outside + 1.0).map_or(0.0, |beta| beta.inverse_cdf(0.05))
    }

    /// Another start is inside with at most this probability, at 95 %.
    #[must_use]
    pub fn another_at_most(self) -> f64 {
        1.0 - Self { inside: self.of - self.inside, of: self.of }.another_at_least()
    }

    /// The verdict by the fraction alone, with a part of the errors.
    #[must_use]
    pub fn decide(self, part: f64) -> Fraction {
        let Ok(binomial) = Binomial::new(MOST_STARTS, self.of as u64) else {
            return Fraction::Open;
        };
        let inside = self.inside as u64;
        let so_many = if inside == 0 { 1.0 } else { binomial.sf(inside - 1) };
        match () {
            () if self.of < FEWEST => Fraction::Open,
            () if so_many <= part * FRACTION_KEPT => Fraction::Kept,
            () if binomial.cdf(inside) <= part * FRACTION_BROKEN => Fraction::Broken,
            () => Fraction::Open,
        }
    }
}

/// What did not happen in so many seconds is rarer than once in these, at 95 % (the rule of three).
#[must_use]
pub fn rarer_than_one_in_s(seconds: f64) -> f64 {
    seconds / poisson(0.0, 0.05).high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{found} {expected}");
    }

    #[test]
    fn eight_starts_have_the_bounds_of_t_with_seven_degrees_of_freedom() {
        let numbers: Vec<f64> = (0..8).map(|one| if one % 2 == 0 { 0.99 } else { 1.01 }).collect();
        let found = mean(&numbers, 1, 1.0);
        let error = 0.01 * (8.0_f64 / 7.0).sqrt() / 8.0_f64.sqrt();
        near(found.value, 1.0);
        // t(7) is 4.02934 at 0.25 % and 4.59464 at 0.125 %.
        near(found.high - 1.0, 4.029_34 * error);
        near(1.0 - found.low, 4.029_34 * error);
        near(found.broken.high - 1.0, 4.594_64 * error);
        assert!(mean(&numbers, 64, 1.0).broken.high > found.broken.high);
    }

    #[test]
    fn fewer_starts_have_no_bounds_and_equal_ones_no_scatter() {
        assert_eq!(mean(&[1.0; 7], 1, 1.0).high, f64::INFINITY);
        let found = mean(&[1.0; 8], 1, 1.0);
        assert_eq!((found.low, found.high), (1.0, 1.0));
    }

    #[test]
    fn few_slices_have_the_limits_of_a_count() {
        // Garwood: of three events 0.8177 to 7.754 at 5 % each.
        let three = poisson(3.0, 0.05);
        near(three.low, 0.817_69);
        near(three.high, 7.753_66);
        near(poisson(0.0, 0.05).high, 2.995_73);
        let none = amount(&[0.0; 8], 1, 1.0, (0.0, 0.5));
        near(none.high, 0.5 / 8.0 * (1.0 / KEPT).ln());
        assert_eq!(none.low, 0.0);
        assert_eq!(amount(&[0.0; 8], 1, 1.0, (10.0, 0.5)).high, 0.0, "enough slices");
    }

    #[test]
    fn the_next_start_has_the_limits_of_clopper_and_pearson() {
        let at_least = |inside, of| Starts { inside, of }.another_at_least();
        near(at_least(8, 8), 0.687_66);
        near(at_least(24, 24), 0.882_66);
        near(at_least(22, 24), 0.760_20);
        assert_eq!(at_least(0, 8), 0.0);
        let at_most = |inside, of| Starts { inside, of }.another_at_most();
        near(at_most(0, 8), 1.0 - 0.687_66);
        near(at_most(2, 24), 1.0 - 0.760_20);
        assert_eq!(at_most(8, 8), 1.0);
    }

    #[test]
    fn a_fraction_is_kept_by_eighteen_clean_starts_and_broken_by_eight_dirty_ones() {
        let decide = |inside, of| Starts { inside, of }.decide(1.0);
        assert_eq!(decide(7, 7), Fraction::Open);
        assert_eq!(decide(14, 14), Fraction::Open);
        assert_eq!(decide(18, 18), Fraction::Kept);
        assert_eq!(decide(23, 24), Fraction::Open);
        assert_eq!(decide(1, 8), Fraction::Broken);
        assert_eq!(decide(2, 8), Fraction::Open);
        assert_eq!(decide(0, 7), Fraction::Open);
    }

    #[test]
    fn all_times_that_runs_are_judged_together_spend_as_much_as_one_run() {
        let sum: f64 = (2..10_000).map(part_of_together).sum();
        assert!(sum <= 1.0 && sum > 0.99, "{sum}");
    }

    #[test]
    fn thirty_quiet_seconds_exclude_one_in_ten() {
        near(rarer_than_one_in_s(30.0), 10.0143);
    }
}
