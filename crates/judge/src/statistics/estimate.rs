//! From draws to intervals: one group by itself, and all groups at once; one repeat or many.

use super::bootstrap::Resampled;
use super::student::{normal_quantile, t_quantile};

/// A share or rate of one group with two intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// The point estimate.
    pub(crate) value: f64,
    /// The interval of this group by itself.
    pub(crate) low: f64,
    /// Its upper end.
    pub(crate) high: f64,
    /// The interval that holds for all groups at once.
    pub(crate) low_of_all: f64,
    /// Its upper end.
    pub(crate) high_of_all: f64,
}

/// All groups of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Estimates {
    /// One entry a group.
    pub(crate) groups: Vec<Estimate>,
    /// Nearly independent observations in all repeats together.
    pub(crate) blocks: f64,
}

/// Combines the repeats of a trial, which must hold the same groups.
///
/// Within a repeat the standard error comes from the draws and its quantile from Student's t
/// with one degree of freedom less than blocks. With several repeats the scatter *between* them
/// is measured as well, with Student's t over the repeats, and the wider interval is taken: a
/// host that differs from one repeat to the next is not made precise by long repeats.
pub(crate) fn combine(repeats: &[Resampled], confidence: f64) -> Option<Estimates> {
    let first = repeats.first()?;
    let (width, count) = (first.logs.len(), repeats.len() as f64);
    let deviations = mean_deviations(repeats);
    let errors = standard_errors(&deviations, width);
    let freedom: f64 = repeats.iter().map(|repeat| (repeat.blocks - 1.0).max(0.0)).sum();
    let blocks: f64 = repeats.iter().map(|repeat| repeat.blocks).sum();
    let t = t_quantile(confidence, freedom);
    let widening =
        (largest_quantile(&deviations, &errors, confidence) / normal_quantile(confidence)).max(1.0);
    let sure = Sureness {
        one: normal_quantile(confidence),
        all: normal_quantile(1.0 - (1.0 - confidence) / width.max(1) as f64),
    };
    let groups = (0..width)
        .map(|group| {
            let logs: Vec<f64> = repeats.iter().map(|repeat| repeat.logs[group]).collect();
            let value = logs.iter().sum::<f64>() / count;
            let half = half_width(t, errors[group]).max(between_repeats(&logs, confidence));
            let by_draws = symmetric(value, half, half * widening);
            few_turns(repeats, group, sure, by_draws).unwrap_or(by_draws)
        })
        .collect();
    Some(Estimates { groups, blocks })
}

/// An infinite quantile of an error of zero is zero, not a number that is none.
fn half_width(quantile: f64, error: f64) -> f64 {
    if error > 0.0 { quantile * error } else { 0.0 }
}

fn symmetric(log: f64, half: f64, half_of_all: f64) -> Estimate {
    Estimate {
        value: log.exp(),
        low: (log - half).exp(),
        high: (log + half).exp(),
        low_of_all: (log - half_of_all).exp(),
        high_of_all: (log + half_of_all).exp(),
    }
}

/// Fewer turns than this are too few for a mean over them to be near normal.
const FEW_TURNS: f64 = 10.0;

/// A group that was served in a few turns, or in none, may have been lucky or unlucky with the
/// edges of the window, which resampling its few turns cannot show. If turns come at random,
/// their number is Poisson, and so are its limits (for none at 95 %: 3.7, the "rule of three").
/// A turn is taken to be the largest amount that any group got in one step. Takes the wider of
/// both intervals; `None` for a group with turns enough.
fn few_turns(
    repeats: &[Resampled],
    group: usize,
    sure: Sureness,
    by_draws: Estimate,
) -> Option<Estimate> {
    let turns: f64 = repeats.iter().map(|repeat| repeat.turns[group]).sum();
    if turns >= FEW_TURNS {
        return None;
    }
    let count = repeats.len() as f64;
    let quantum = repeats.iter().map(|repeat| repeat.quantum).fold(0.0, f64::max);
    let served = repeats.iter().filter(|repeat| repeat.turns[group] > 0.0);
    let value = served.map(|repeat| repeat.logs[group].exp()).sum::<f64>() / count;
    if quantum <= 0.0 {
        return None;
    }
    // Over all repeats together the group had this many turns' worth.
    let worth = value * count / quantum;
    let limits = |sure: f64| {
        (poisson_low(worth, sure) * quantum / count, poisson_high(worth, sure) * quantum / count)
    };
    let ((low, high), (low_of_all, high_of_all)) = (limits(sure.one), limits(sure.all));
    let starved = turns <= 0.0;
    let wider = |limit: f64, drawn: f64, pick: fn(f64, f64) -> f64| {
        if starved { limit } else { pick(limit, drawn) }
    };
    Some(Estimate {
        value,
        low: wider(low, by_draws.low, f64::min),
        high: wider(high, by_draws.high, f64::max),
        low_of_all: wider(low_of_all, by_draws.low_of_all, f64::min),
        high_of_all: wider(high_of_all, by_draws.high_of_all, f64::max),
    })
}

/// Normal quantiles for one group by itself and for all groups at once (Bonferroni).
#[derive(Clone, Copy)]
struct Sureness {
    one: f64,
    all: f64,
}

/// Limits of a Poisson mean by the cube root of Wilson and Hilferty (1931), within 1 % of the
/// exact ones of Garwood from one event on.
fn poisson_high(events: f64, quantile: f64) -> f64 {
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

/// Draw `i` of the mean over the repeats is the mean of draw `i` of each: the repeats are
/// independent of each other.
fn mean_deviations(repeats: &[Resampled]) -> Vec<f64> {
    let mut mean = repeats[0].deviations.clone();
    for repeat in &repeats[1..] {
        mean.iter_mut().zip(&repeat.deviations).for_each(|(sum, value)| *sum += value);
    }
    mean.iter_mut().for_each(|value| *value /= repeats.len() as f64);
    mean
}

fn standard_errors(deviations: &[f64], width: usize) -> Vec<f64> {
    let draws = deviations.len() / width.max(1);
    let mut squares = vec![0.0; width];
    for draw in deviations.chunks_exact(width.max(1)) {
        squares.iter_mut().zip(draw).for_each(|(sum, value)| *sum += value * value);
    }
    squares.iter().map(|sum| (sum / (draws.max(2) - 1) as f64).sqrt()).collect()
}

/// The quantile over draws of the largest deviation of any group, in its standard errors: how
/// far the most unlucky of all groups strays.
fn largest_quantile(deviations: &[f64], errors: &[f64], confidence: f64) -> f64 {
    let mut largest: Vec<f64> = deviations
        .chunks_exact(errors.len().max(1))
        .map(|draw| {
            let scaled = draw.iter().zip(errors).filter(|(_, error)| **error > 0.0);
            scaled.map(|(value, error)| value.abs() / error).fold(0.0, f64::max)
        })
        .collect();
    if largest.is_empty() {
        return 0.0;
    }
    largest.sort_by(f64::total_cmp);
    let rank = (confidence * largest.len() as f64).ceil() as usize;
    largest[rank.clamp(1, largest.len()) - 1]
}

/// Half the width of Student's interval over repeats; 0 for a single repeat, which says nothing
/// of the others.
fn between_repeats(logs: &[f64], confidence: f64) -> f64 {
    let count = logs.len() as f64;
    if logs.len() < 2 {
        return 0.0;
    }
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    half_width(t_quantile(confidence, count - 1.0), (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(logs: &[f64], deviation: f64) -> Resampled {
        let deviations = (0..1000)
            .flat_map(|draw| {
                let sign = if draw % 2 == 0 { deviation } else { -deviation };
                logs.iter().map(move |_| sign)
            })
            .collect();
        Resampled {
            logs: logs.to_vec(),
            deviations,
            blocks: 31.0,
            quantum: 0.01,
            turns: logs.iter().map(|_| 200.0).collect(),
        }
    }

    #[test]
    fn one_repeat_uses_t_with_one_freedom_less_than_blocks() {
        let estimates = combine(&[repeat(&[0.0], 0.01)], 0.95).unwrap();
        let half = estimates.groups[0].high.ln();
        assert!((half - 2.0423 * 0.01).abs() < 2e-5, "{half}");
    }

    #[test]
    fn repeats_that_differ_widen_the_interval_beyond_their_own_errors() {
        let logs = [-0.1, 0.0, 0.1];
        let repeats: Vec<_> = logs.iter().map(|log| repeat(&[*log], 0.001)).collect();
        let half = combine(&repeats, 0.95).unwrap().groups[0].high.ln();
        // t(2) = 4.3027, standard deviation 0.1, three repeats.
        assert!((half - 4.3027 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-4, "{half}");
    }

    #[test]
    fn a_starved_group_gets_the_rule_of_three() {
        let mut one = repeat(&[-3.0, 0.0], 0.001);
        one.turns[0] = 0.0;
        let group = combine(&[one], 0.95).unwrap().groups[0];
        assert_eq!((group.value, group.low), (0.0, 0.0));
        assert!((group.high / 0.01 - 3.689).abs() < 0.03, "{group:?}");
        assert!(group.high_of_all > group.high);
    }

    #[test]
    fn a_group_of_few_turns_is_less_sure_than_its_draws() {
        let mut one = repeat(&[0.03_f64.ln(), 0.0], 0.001);
        one.turns[0] = 3.0;
        let group = combine(&[one], 0.95).unwrap().groups[0];
        // Three events: the exact limits of Garwood are 0.619 and 8.767.
        assert!((group.value - 0.03).abs() < 1e-12);
        assert!((group.low / 0.01 - 0.619).abs() < 0.03, "{group:?}");
        assert!((group.high / 0.01 - 8.767).abs() < 0.03, "{group:?}");
    }
}
