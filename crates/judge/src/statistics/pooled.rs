//! Many repeats: what runs like these will give.
//!
//! The repeat is the unit. A repeat gives each group one number, `l = ln(share)`, and the estimate is
//! their mean. How far it may be off follows from how repeats scatter. Two or three of them say
//! little of one group, and a lot of many groups together: so the scatter is pooled. Each residual
//! `l - mean` is divided by the group's own error `e` within a repeat, which makes heavy and light,
//! noisy and quiet groups comparable, and the mean square of these over all groups is one factor `F`
//! (the squared Birge ratio). The standard error of a mean is `e sqrt(max(F, 1) / R)`. Both `F` and
//! `e` are estimates, so that Student's t has `1 / (1 / f + 1 / 9R)` degrees of freedom, `f` those of
//! the pool and nine those of the batches of each repeat (Satterthwaite).

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::batches::{BATCHES, Quantity, Within};
use super::over_repeats::of_all;
use super::student::t_quantile;
use super::turns;

/// Groups of one pool, at least: light groups scatter more than heavy ones on many servers, so that
/// pools hold groups of about the same share; smaller pools would know too little.
const POOL: usize = 8;

/// The part of the error that `broken` may spend.
pub(crate) const ACCUSED: f64 = 0.2;

/// A group whose own scatter would be this rare in its pool has a scatter of its own.
const STANDS_OUT: f64 = 0.01;

/// A share or rate of one group with two intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// The point estimate.
    pub(crate) value: f64,
    /// The interval of this group by itself.
    pub(crate) low: f64,
    /// Its upper end.
    pub(crate) high: f64,
    /// The interval that `broken` rests on: it holds for all groups at once (Bonferroni), with a fifth
    /// of the error. Who accuses must be surer than who acquits.
    pub(crate) low_of_all: f64,
    /// Its upper end.
    pub(crate) high_of_all: f64,
}

/// A standard error and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sure {
    error: f64,
    freedom: f64,
}

/// Combines the repeats of a trial, which must hold the same groups. `expected` orders the groups by
/// weight. One repeat has the error that it shows within itself: it stands for its own window.
pub(crate) fn combine(
    repeats: &[Within],
    quantity: Quantity,
    expected: &[f64],
    confidence: f64,
) -> Vec<Estimate> {
    let Some(first) = repeats.first() else { return Vec::new() };
    let width = first.logs.len();
    let all = of_all(1.0 - ACCUSED * (1.0 - confidence), width);
    let sure = match repeats {
        [one] => {
            let freedom = (BATCHES - 1) as f64;
            one.errors.iter().map(|error| Sure { error: *error, freedom }).collect()
        }
        _ => between(repeats, quantity, expected),
    };
    let of_group = |(group, sure): (usize, Sure)| {
        let log =
            repeats.iter().map(|repeat| repeat.logs[group]).sum::<f64>() / repeats.len() as f64;
        let half = t_quantile(confidence, sure.freedom) * sure.error;
        let half_of_all = t_quantile(all, sure.freedom) * sure.error;
        let estimate = Estimate {
            value: log.exp(),
            low: (log - half).exp(),
            high: (log + half).exp(),
            low_of_all: (log - half_of_all).exp(),
            high_of_all: (log + half_of_all).exp(),
        };
        turns::widened(repeats, group, (confidence, all), estimate)
    };
    sure.into_iter().enumerate().map(of_group).collect()
}

/// One group over the repeats.
struct Scatter {
    group: usize,
    /// Its error within one repeat, the root of the mean square over the repeats.
    within: f64,
    /// The sum of its squared residuals, in units of that error.
    squares: f64,
}

/// The standard error of each group's mean over two or more repeats.
fn between(repeats: &[Within], quantity: Quantity, expected: &[f64]) -> Vec<Sure> {
    let width = repeats[0].logs.len();
    let mut scatters: Vec<Scatter> = (0..width).map(|group| Scatter::of(repeats, group)).collect();
    scatters.sort_by(|a, b| expected[a.group].total_cmp(&expected[b.group]));
    let freedom = (repeats.len() - 1) as f64;
    let batches = ((BATCHES - 1) * repeats.len()) as f64;
    // Shares add up to one, so that what one group knows the others tell as well. Rates of groups
    // may move together, so that each speaks for itself.
    let (pool, own) = match quantity {
        Quantity::Share => (POOL, (width as f64 - 1.0) / width as f64),
        Quantity::Rate => (1, 1.0),
    };
    let mut sure = vec![Sure { error: f64::INFINITY, freedom }; width];
    for pool in pools(&scatters, pool) {
        let stands_out = |one: &&Scatter| {
            let others = pool.iter().filter(|other| other.group != one.group);
            Pool::of([*one], freedom, 1.0).stands_out(&Pool::of(others, freedom, own), width)
        };
        let (jumping, calm): (Vec<&Scatter>, Vec<&Scatter>) = pool.iter().partition(stands_out);
        let alone = jumping.iter().map(|one| (*one, Pool::of([*one], freedom, 1.0)));
        let together = Pool::of(calm.iter().copied(), freedom, own);
        for (one, chosen) in alone.chain(calm.iter().map(|one| (*one, together))) {
            sure[one.group] = Sure {
                error: one.within * (chosen.factor().max(1.0) / repeats.len() as f64).sqrt(),
                freedom: 1.0 / (1.0 / chosen.freedom + 1.0 / batches),
            };
        }
    }
    sure
}

impl Scatter {
    fn of(repeats: &[Within], group: usize) -> Self {
        let count = repeats.len() as f64;
        let errors = repeats.iter().map(|repeat| repeat.errors[group]);
        let finite: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
        let squared = finite.iter().map(|error| error * error).sum::<f64>() / finite.len() as f64;
        // A group that was never served: Poisson limits say how sure that is.
        let within = if finite.is_empty() { 1.0 } else { squared.sqrt() };
        let mean = repeats.iter().map(|repeat| repeat.logs[group]).sum::<f64>() / count;
        let squares = repeats.iter().map(|repeat| ((repeat.logs[group] - mean) / within).powi(2));
        Self { group, within, squares: squares.sum() }
    }
}

/// Neighbours by weight, at least so many together.
fn pools(scatters: &[Scatter], least: usize) -> impl Iterator<Item = &[Scatter]> {
    let count = (scatters.len() / least.max(1)).max(1);
    (0..count).map(move |pool| {
        &scatters[pool * scatters.len() / count..(pool + 1) * scatters.len() / count]
    })
}

/// The scatter of some groups.
#[derive(Debug, Clone, Copy)]
struct Pool {
    squares: f64,
    /// Squares that a factor of one would give.
    expected: f64,
    freedom: f64,
}

impl Pool {
    /// `own` is the part of a group's residuals that the others do not tell.
    fn of<'s>(scatters: impl IntoIterator<Item = &'s Scatter>, each: f64, own: f64) -> Self {
        let none = Self { squares: 0.0, expected: 0.0, freedom: 0.0 };
        scatters.into_iter().fold(none, |sum, one| Self {
            squares: sum.squares + one.squares,
            expected: sum.expected + each,
            freedom: sum.freedom + each * own,
        })
    }

    fn factor(&self) -> f64 {
        if self.expected > 0.0 { self.squares / self.expected } else { 0.0 }
    }

    /// Whether this group's scatter is beyond what chance gives among the others (F test, all
    /// `groups` of a trial together).
    fn stands_out(&self, others: &Self, groups: usize) -> bool {
        let Ok(f) = FisherSnedecor::new(self.freedom, others.freedom) else { return false };
        let ratio = self.factor() / others.factor().max(1.0);
        1.0 - f.cdf(ratio) < STANDS_OUT / groups as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(logs: &[f64], error: f64) -> Within {
        let (errors, turns) = (vec![error; logs.len()], vec![200.0; logs.len()]);
        Within { logs: logs.to_vec(), errors, quantum: 0.01, turns }
    }

    fn half(repeats: &[Within], quantity: Quantity) -> f64 {
        let expected = vec![1.0; repeats[0].logs.len()];
        let found = combine(repeats, quantity, &expected, 0.95)[0];
        (found.high / found.value).ln()
    }

    #[test]
    fn one_repeat_has_the_freedom_of_its_batches() {
        let half = half(&[repeat(&[0.0, 0.0], 0.01)], Quantity::Share);
        assert!((half - 2.2622 * 0.01).abs() < 2e-6, "{half}");
    }

    /// Student's t of so many degrees of freedom of a pool, with three repeats of nine batches each.
    fn t(freedom: f64) -> f64 {
        t_quantile(0.95, 1.0 / (1.0 / freedom + 1.0 / 27.0))
    }

    #[test]
    fn two_groups_know_no_more_than_one() {
        // The residuals of two shares are the same but for their sign: one freedom a repeat.
        let repeats: Vec<Within> =
            [-0.1, 0.0, 0.1].iter().map(|log| repeat(&[*log, -log], 0.001)).collect();
        let half = half(&repeats, Quantity::Share);
        assert!((half - t(2.0) * 0.1 / 3.0_f64.sqrt()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn rates_may_move_together_and_know_only_their_own_scatter() {
        let repeats: Vec<Within> =
            [-0.1, 0.0, 0.1].iter().map(|log| repeat(&[*log; 4], 0.001)).collect();
        let half = half(&repeats, Quantity::Rate);
        assert!((half - t(2.0) * 0.1 / 3.0_f64.sqrt()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn four_groups_lend_each_other_their_freedom() {
        let signs = [[-1.0, 1.0, -1.0, 1.0], [0.0; 4], [1.0, -1.0, 1.0, -1.0]];
        let repeats: Vec<Within> =
            signs.iter().map(|row| repeat(&row.map(|one| 0.1 * one), 0.001)).collect();
        // Eight squares of 0.01 over eight, of which six are independent.
        let expected = t(6.0) * (0.08_f64 / 8.0 / 3.0).sqrt();
        let half = half(&repeats, Quantity::Share);
        assert!((half - expected).abs() < 1e-9, "{half}");
    }

    #[test]
    fn repeats_that_agree_by_chance_are_no_surer_than_each_is_within() {
        let repeats = [repeat(&[0.0, 0.0], 0.01), repeat(&[0.0, 0.0], 0.01)];
        let half = half(&repeats, Quantity::Share);
        // One degree of freedom of the pool and 18 of the batches.
        let expected = t_quantile(0.95, 18.0 / 19.0) * 0.01 / 2.0_f64.sqrt();
        assert!((half - expected).abs() < 1e-9, "{half}");
    }

    #[test]
    fn a_group_that_jumps_is_not_made_sure_by_quiet_neighbours() {
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
    fn more_repeats_always_help() {
        let row = |sign: f64| repeat(&[0.01 * sign, -0.01 * sign, 0.0, 0.0], 0.01);
        let rows: Vec<Within> =
            (0..8).map(|one| row(if one % 2 == 0 { 1.0 } else { -1.0 })).collect();
        let halves: Vec<f64> =
            (1..=4).map(|pairs| half(&rows[..2 * pairs], Quantity::Share)).collect();
        assert!(halves.windows(2).all(|pair| pair[1] < pair[0]), "{halves:?}");
    }
}
