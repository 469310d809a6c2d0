//! Several repeats: what to expect of runs like these.
//!
//! The repeat is the unit. Each repeat gives one share per group, and what is printed is their mean.
//! Intervals are those of the mean of `l = ln(share)`, since shares scatter by factors. Its error
//! follows from the scatter of the repeats. Two or three repeats show little about one group, but much about many groups together: so the scatter is pooled. Each
//! residual `l - mean` is divided by the group's own error `e` within a repeat, which makes heavy
//! and light, noisy and quiet groups comparable, and the mean square of these over all groups is
//! one factor `F` (the squared Birge ratio). The standard error of a mean is `e sqrt(max(F, 1) /
//! R)`. Both `F` and `e` are estimates, so Student's t has `1 / (1 / f + 1 / 9R)` degrees of
//! freedom, `f` those of the pool and nine those of the batches of each repeat (Satterthwaite).
//!
//! A pool assumes that its groups scatter alike and independently. So no verdict relies on it
//! alone: the group's own repeats must agree, by a less strict test. Where repeats differ by one
//! number that moves all groups by their weight, there is no pool.
//!
//! The mean of many repeats that differ by factors is not that of their logarithms, and has an
//! interval of its own, which belongs to both (`mean`).

use super::batches::{Quantity, Within};
use super::mean;
use super::over_repeats::confidence_to_break;
use super::poisson;
use super::scatter::{Pool, Scatter, move_together, pools};
use super::student::t_quantile;

pub use super::estimate::{Estimate, Range};

/// Minimum size of a pool: on many servers light groups scatter more than heavy ones, so pools hold
/// groups of about the same share; smaller pools would show too little.
const POOL: usize = 8;

/// A standard error with its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
struct StandardError {
    error: f64,
    freedom: f64,
}

impl StandardError {
    fn half(&self, confidence: f64) -> f64 {
        t_quantile(confidence, self.freedom) * self.error
    }
}

/// Standard errors of one group.
struct GroupErrors {
    /// For its own interval.
    one: StandardError,
    /// From its pool.
    pooled: StandardError,
    /// From its own repeats.
    own: StandardError,
}

/// Combines the repeats of a trial, which must have the same groups. `expected` orders the groups
/// by weight. One repeat has the error within itself: it describes its own window.
pub fn combine(
    repeats: &[Within],
    quantity: Quantity,
    expected: &[f64],
    confidence: f64,
) -> Vec<Estimate> {
    let Some(first) = repeats.first() else { return Vec::new() };
    let (width, wrong) = (first.logs.len(), 1.0 - confidence);
    let all = confidence_to_break(confidence, width);
    let (known, free) = match repeats {
        [one] => (alone(one), width),
        _ => between(repeats, quantity, expected),
    };
    let of_group = |(group, known): (usize, GroupErrors)| {
        let log = repeats.iter().map(|repeat| repeat.logs[group]).sum::<f64>();
        let values: Vec<f64> = repeats.iter().map(|repeat| repeat.values[group]).collect();
        // A test of equivalence with this error needs the interval of twice that (Schuirmann 1987).
        let half = known.one.half(confidence).max(known.own.half(1.0 - 2.0 * wrong));
        let broken =
            known.pooled.half(all).max(known.own.half(confidence_to_break(confidence, free)));
        let estimate = Estimate::of_log(log / repeats.len() as f64, half, broken);
        let estimate = mean::widened(&values, (confidence, all), estimate);
        poisson::widened(repeats, group, (confidence, all), estimate)
    };
    known.into_iter().enumerate().map(of_group).collect()
}

/// The noise of one repeat by itself. Long correlations make batches too similar, which longer
/// batches show.
fn alone(one: &Within) -> Vec<GroupErrors> {
    let of = |(error, coarse): (&f64, &f64)| {
        let fine = StandardError { error: *error, freedom: one.freedom };
        GroupErrors {
            one: fine,
            pooled: fine,
            own: StandardError { error: *coarse, freedom: one.coarse.1 },
        }
    };
    one.errors.iter().zip(&one.coarse.0).map(of).collect()
}

/// Standard errors from two or more repeats, and the number of groups that their own repeats may
/// accuse by chance.
fn between(repeats: &[Within], quantity: Quantity, expected: &[f64]) -> (Vec<GroupErrors>, usize) {
    let width = repeats[0].logs.len();
    let mut scatters: Vec<Scatter> = (0..width).map(|group| Scatter::new(repeats, group)).collect();
    scatters.sort_by(|a, b| expected[a.group].total_cmp(&expected[b.group]));
    let (count, freedom) = (repeats.len() as f64, (repeats.len() - 1) as f64);
    let batches = repeats.iter().map(|repeat| repeat.freedom).sum::<f64>();
    // Shares add up to one, so they are not independent. Rates of groups may move together, so each
    // counts separately.
    let (least, part, together) = match quantity {
        Quantity::Share => {
            (POOL, (width as f64 - 1.0) / width as f64, move_together(&scatters, expected, batches))
        }
        Quantity::Rate => (1, 1.0, false),
    };
    let sure = |one: &Scatter, pool: Pool, least: f64| StandardError {
        error: one.within * (pool.factor.max(least) / count).sqrt(),
        freedom: 1.0 / (1.0 / pool.freedom + 1.0 / batches),
    };
    let mut known: Vec<(usize, GroupErrors)> = Vec::with_capacity(width);
    for pool in pools(&scatters, least) {
        let (typical, pooled_scatter) = typical(pool, part, width);
        for (one, is_typical) in pool.iter().zip(typical) {
            let alone = Pool::new([one], 1.0);
            let pooled = sure(one, if is_typical { pooled_scatter } else { alone }, 1.0);
            let (by_itself, own) = match together {
                true => (sure(one, alone, 1.0), sure(one, alone, 1.0)),
                false => (pooled, sure(one, alone, 0.0)),
            };
            let own = StandardError { freedom, ..own };
            known.push((one.group, GroupErrors { one: by_itself, pooled, own }));
        }
    }
    known.sort_by_key(|(group, _)| *group);
    // Groups that move together do so in two directions.
    (known.into_iter().map(|(_, known)| known).collect(), if together { 2 } else { 1 })
}

/// Which groups of a pool scatter like the others, and the pooled scatter of those.
fn typical(pool: &[Scatter], part: f64, width: usize) -> (Vec<bool>, Pool) {
    let is_typical = |one: &Scatter| {
        let others = pool.iter().filter(|other| other.group != one.group);
        !Pool::new([one], 1.0).stands_out(&Pool::new(others, part), width)
    };
    let typical: Vec<bool> = pool.iter().map(is_typical).collect();
    let members = pool.iter().zip(&typical).filter(|(_, typical)| **typical).map(|(one, _)| one);
    let pooled_scatter = Pool::new(members, part);
    (typical, pooled_scatter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(logs: &[f64], error: f64) -> Within {
        let (errors, turns) = (vec![error; logs.len()], vec![200.0; logs.len()]);
        let (logs, coarse) = (logs.to_vec(), (errors.clone(), 4.0));
        let values = logs.iter().map(|log| log.exp()).collect();
        Within { values, logs, errors, freedom: 9.0, coarse, quantum: 0.01, turns }
    }

    fn half(repeats: &[Within], quantity: Quantity) -> f64 {
        let expected = vec![1.0; repeats[0].logs.len()];
        let found = combine(repeats, quantity, &expected, 0.95)[0];
        (found.high / found.low).ln() / 2.0
    }

    #[test]
    fn the_value_is_the_mean_of_the_shares_and_within_its_intervals() {
        let rows = |count: usize| -> Vec<Within> {
            let share = |one: usize| if one.is_multiple_of(2) { 0.1_f64 } else { 0.4 };
            (0..count)
                .map(|one| repeat(&[share(one).ln(), (1.0 - share(one)).ln()], 0.01))
                .collect()
        };
        for count in [2, 100] {
            let found = combine(&rows(count), Quantity::Share, &[0.5; 2], 0.95);
            assert!((found[0].value - 0.25).abs() < 1e-9 && (found[1].value - 0.75).abs() < 1e-9);
            let of = found[0];
            assert!(of.low <= of.value && of.value <= of.high, "{of:?}");
            assert!(of.broken.low <= of.value && of.value <= of.broken.high, "{of:?}");
        }
    }

    #[test]
    fn one_repeat_has_the_freedom_of_its_batches() {
        let half = half(&[repeat(&[0.0, 0.0], 0.01)], Quantity::Share);
        assert!((half - 2.2622 * 0.01).abs() < 2e-6, "{half}");
    }

    /// Student's t for a pool of so many degrees of freedom, with three repeats of nine batches
    /// each.
    fn t(freedom: f64) -> f64 {
        t_quantile(0.95, 1.0 / (1.0 / freedom + 1.0 / 27.0))
    }

    #[test]
    fn two_groups_have_the_freedom_of_one() {
        // The residuals of two shares differ only by their sign: one degree of freedom per repeat.
        let repeats: Vec<Within> =
            [-0.1, 0.0, 0.1].iter().map(|log| repeat(&[*log, -log], 0.001)).collect();
        let half = half(&repeats, Quantity::Share);
        assert!((half - t(2.0) * 0.1 / 3.0_f64.sqrt()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn rates_are_not_pooled() {
        let repeats: Vec<Within> =
            [-0.1, 0.0, 0.1].iter().map(|log| repeat(&[*log; 4], 0.001)).collect();
        let half = half(&repeats, Quantity::Rate);
        assert!((half - t(2.0) * 0.1 / 3.0_f64.sqrt()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn four_groups_pool_their_freedom() {
        // The first scatters less than the others.
        let signs = [[-0.2, 1.0, -1.0, 1.0], [0.0; 4], [0.2, -1.0, 1.0, -1.0]];
        let repeats: Vec<Within> =
            signs.iter().map(|row| repeat(&row.map(|one| 0.1 * one), 0.001)).collect();
        // Six squares of 0.01 and two of 0.0004 over eight, of which six are independent.
        let expected = t(6.0) * (0.0608_f64 / 8.0 / 3.0).sqrt();
        let half = half(&repeats, Quantity::Share);
        assert!((half - expected).abs() < 1e-9, "{half}");
    }

    #[test]
    fn repeats_that_agree_by_chance_keep_their_error_within() {
        let repeats = [repeat(&[0.0, 0.0], 0.01), repeat(&[0.0, 0.0], 0.01)];
        let half = half(&repeats, Quantity::Share);
        // One degree of freedom of the pool and 18 of the batches.
        let expected = t_quantile(0.95, 18.0 / 19.0) * 0.01 / 2.0_f64.sqrt();
        assert!((half - expected).abs() < 1e-9, "{half}");
    }

    #[test]
    fn quiet_neighbours_do_not_hide_a_jump() {
        let row = |jump: f64| {
            let mut logs = vec![0.0; 16];
            (logs[1], logs[2], logs[0]) = (0.005, -0.005, jump);
            repeat(&logs, 0.01)
        };
        let repeats = [row(0.0), row(0.0), row(0.7)];
        let found = combine(&repeats, Quantity::Share, &[1.0; 16], 0.95);
        assert!(found[0].high / found[0].low > 5.0, "{:?}", found[0]);
        assert!(found[1].high / found[1].low < 1.1, "{:?}", found[1]);
    }

    #[test]
    fn a_verdict_also_needs_the_group_s_own_repeats() {
        // Three of 16 groups scatter by four times as much as the others, too little to stand out.
        let row = |sign: f64, jump: f64| {
            let mut logs: Vec<f64> =
                (0..16).map(|one| if one % 2 == 0 { sign } else { -sign } * 0.01).collect();
            logs[0] = jump;
            repeat(&logs, 0.01)
        };
        let repeats = [row(1.0, 0.02), row(-1.0, -0.02), row(0.0, 0.0)];
        let found = combine(&repeats, Quantity::Share, &[1.0; 16], 0.95);
        let own = 0.02 / 3.0_f64.sqrt();
        // t(2) at 90 % is 2.92, at 99 % 9.925.
        assert!((found[0].high.ln() - 2.92 * own).abs() < 1e-4, "{:?}", found[0]);
        assert!((found[0].broken.high.ln() - 9.925 * own).abs() < 1e-4, "{:?}", found[0]);
    }

    #[test]
    fn an_exponent_of_the_weights_moves_all_groups_at_once() {
        let weights = [1.0_f64, 2.0, 4.0, 8.0].repeat(4);
        let row = |delta: f64| {
            let all: f64 = weights.iter().map(|one| one.powf(1.0 + delta)).sum();
            let logs: Vec<f64> =
                weights.iter().map(|one| (one.powf(1.0 + delta) / all).ln()).collect();
            repeat(&logs, 0.01)
        };
        let repeats = [row(-0.05), row(0.05)];
        let found = combine(&repeats, Quantity::Share, &weights, 0.95)[0];
        let own = (repeats[1].logs[0] - repeats[0].logs[0]).abs() / 2.0;
        // One degree of freedom, and 18 of the batches.
        let expected = t_quantile(0.95, 18.0 / 19.0) * own;
        assert!(((found.high / found.low).ln() / 2.0 - expected).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn more_repeats_always_help() {
        let row = |sign: f64| repeat(&[0.01 * sign, -0.01 * sign, 0.0, 0.0], 0.01);
        let rows: Vec<Within> =
            (0..8).map(|one| row(if one % 2 == 0 { 1.0 } else { -1.0 })).collect();
        let halves: Vec<f64> =
            (1..=4).map(|pairs| half(&rows[..2 * pairs], Quantity::Share)).collect();
        assert!(halves.windows(2).all(|pair| pair[1] < pair[0]), "{halves:?}");
    }
}
