//! A run that moves between two states has a mean that no second of it ever had.

use crate::judgement::States;
use crate::numbers::Asked;
use crate::spans::Spans;
use crate::wording::count;

/// A span in which a group got next to nothing counts as this much of its share.
const LEAST: f64 = 0.05;

/// Spans of each state, at least.
const LEAST_SPANS: usize = 2;

/// The part of all spans that each state has, at least.
const LEAST_PART: f64 = 0.05;

/// States are this many standard deviations of what is left within them apart.
const APART: f64 = 4.0;

/// Changes from one state to the other, as a part of what independent spans would have, at most.
const FEW_CHANGES: f64 = 0.5;

/// Repeats that were in both states and say how long runs stay in each, at least.
const FEWEST_REPEATS: usize = 3;

/// The clearest two states of any group over all its repeats, further apart than the margin, those
/// of which one is outside of the promise first; the spans are `[repeat][group]`.
pub(crate) fn find(asked: &Asked<'_>, spans: &[Vec<Spans>]) -> Option<States> {
    let of_group = |(group, name): (usize, &String)| {
        let repeats: Vec<&Spans> = spans.iter().filter_map(|repeat| repeat.get(group)).collect();
        of_group(&repeats, name, asked.within)
    };
    let found = asked.names.iter().enumerate().filter_map(of_group);
    let apart = |one: &States| (one.times[1] / one.times[0]).ln();
    let rank = |one: &States| (has_one_outside(asked, one), apart(one));
    found.max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

fn has_one_outside(asked: &Asked<'_>, states: &States) -> bool {
    states.times.iter().any(|times| asked.side.error(*times, 1.0) > asked.within)
}

/// Why states leave open what runs like these give: one of them breaks the promise, and how much of
/// it a run has is known of too few repeats. A repeat that was in one state alone says nothing of it:
/// the next may be in the other from its beginning to its end.
pub(crate) fn unsettled(asked: &Asked<'_>, states: &States) -> Option<String> {
    let repeats = asked.repeats.len();
    let settled = states.repeats == repeats && repeats >= FEWEST_REPEATS;
    (has_one_outside(asked, states) && !settled).then(|| {
        format!(
            "one of the two states is outside of the promise, and {} of {} were in both, where all of \
             {FEWEST_REPEATS} or more tell how much of it a run has",
            states.repeats,
            count(repeats, "repeat")
        )
    })
}

fn of_group(repeats: &[&Spans], name: &str, within: f64) -> Option<States> {
    let series: Vec<Vec<f64>> = repeats
        .iter()
        .map(|spans| spans.times.iter().flatten().map(|one| one.max(LEAST).ln()).collect())
        .collect();
    let mut sorted: Vec<f64> = series.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let split = Split::best(&sorted)?;
    let (low, high) = (split.means[0].exp(), split.means[1].exp());
    let least = LEAST_SPANS.max((LEAST_PART * sorted.len() as f64).ceil() as usize);
    let fewest = split.below.min(sorted.len() - split.below);
    let part = split.below as f64 / sorted.len() as f64;
    let pairs: usize = series.iter().map(|one| one.len().saturating_sub(1)).sum();
    let changes: usize = series
        .iter()
        .flat_map(|one| one.windows(2))
        .filter(|pair| (pair[0] < split.edge) != (pair[1] < split.edge))
        .count();
    let by_chance = 2.0 * part * (1.0 - part) * pairs as f64;
    let is_state = fewest >= least
        && (high / low - 1.0) > within
        && (split.means[1] - split.means[0]) >= APART * split.deviation
        && (changes as f64) <= FEW_CHANGES * by_chance;
    let length_s = repeats.first()?.length_s;
    let moved = |one: &&Vec<f64>| {
        one.iter().any(|span| *span < split.edge) && one.iter().any(|span| *span >= split.edge)
    };
    is_state.then(|| States {
        group: name.to_owned(),
        times: [low, high],
        seconds: [split.below, sorted.len() - split.below].map(|spans| spans as f64 * length_s),
        repeats: series.iter().filter(moved).count(),
    })
}

/// Sorted values in two parts, so that the squares within them are least.
struct Split {
    below: usize,
    edge: f64,
    means: [f64; 2],
    deviation: f64,
}

impl Split {
    fn best(sorted: &[f64]) -> Option<Self> {
        let (n, all) = (sorted.len() as f64, sorted.iter().sum::<f64>());
        let squares: f64 = sorted.iter().map(|one| one * one).sum();
        let mut sum = 0.0;
        let mut best: Option<(f64, Self)> = None;
        for below in 1..sorted.len() {
            sum += sorted[below - 1];
            let (one, other) = (below as f64, n - below as f64);
            let means = [sum / one, (all - sum) / other];
            let within = (squares - one * means[0].powi(2) - other * means[1].powi(2)).max(0.0);
            if best.as_ref().is_none_or(|(least, _)| within < *least) {
                let deviation = (within / n).sqrt();
                best = Some((within, Self { below, edge: sorted[below], means, deviation }));
            }
        }
        best.map(|(_, split)| split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in(times: impl Iterator<Item = f64>) -> Option<States> {
        let spans = Spans { times: times.map(Some).collect(), length_s: 1.0 };
        of_group(&[&spans], "task1", 0.1)
    }

    fn ripple(second: usize) -> f64 {
        1.0 + [0.03, -0.02, 0.01, -0.03, 0.02][second % 5]
    }

    #[test]
    fn two_states_are_told_with_the_time_spent_in_each() {
        let found =
            find_in((0..45).map(|at| ripple(at) * if at < 22 { 2.0 } else { 1.0 })).unwrap();
        assert_eq!(found.seconds, [23.0, 22.0]);
        assert!((found.times[0] - 1.0).abs() < 0.05 && (found.times[1] - 2.0).abs() < 0.05);
    }

    #[test]
    fn noise_and_turns_are_no_states() {
        assert_eq!(find_in((0..45).map(ripple)), None);
        let turns = (0..45).map(|at| ripple(at) * if at % 2 == 0 { 2.0 } else { 1.0 });
        assert_eq!(find_in(turns), None);
    }
}
