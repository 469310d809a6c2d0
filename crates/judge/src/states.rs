//! Two states of a run, whose mean describes neither.

use assay_stats::spans::Spans;
use assay_verdict::States;
use assay_verdict::wording::count;

use crate::estimates::PromiseData;

/// Lower limit of a span's relative share.
const LEAST: f64 = 0.05;

/// Minimum number of spans in each state.
const LEAST_SPANS: usize = 2;

/// Minimum part of one repeat's spans in each state: a state in which a single repeat was for so
/// long counts, however many other repeats there are.
const LEAST_PART: f64 = 0.05;

/// Minimum distance of states in standard deviations within them.
const APART: f64 = 4.0;

/// Maximum number of changes between states, relative to independent spans.
const FEW_CHANGES: f64 = 0.5;

/// Minimum number of repeats with both states, to know how long runs stay in each.
const FEWEST_REPEATS: usize = 3;

/// The two states of each group that has them over all its repeats, further apart than the margin;
/// the spans are `[repeat][group]`.
pub(crate) fn find(data: &PromiseData<'_>, spans: &[Vec<Spans>]) -> Vec<States> {
    let of_group = |(group, name): (usize, &String)| {
        let repeats: Vec<&Spans> = spans.iter().filter_map(|repeat| repeat.get(group)).collect();
        of_group(&repeats, name, data.within)
    };
    data.names.iter().enumerate().filter_map(of_group).collect()
}

/// The clearest states, preferring those of which one is outside the promise.
pub(crate) fn clearest(data: &PromiseData<'_>, found: &[States]) -> Option<States> {
    let apart = |one: &States| (one.times[1] / one.times[0]).ln();
    let rank = |one: &States| (has_one_outside(data, one), apart(one));
    let clearest = found.iter().max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    clearest.cloned()
}

fn has_one_outside(data: &PromiseData<'_>, states: &States) -> bool {
    states.times.iter().any(|times| data.side.error(*times, 1.0) > data.within)
}

/// Why states of any group leave open what to expect of runs like these: one of them breaks the
/// promise, and too few repeats show how much of it a run has. A repeat that was in one state only
/// shows nothing of that: the next may be in the other throughout.
pub(crate) fn unsettled(data: &PromiseData<'_>, found: &[States]) -> Option<String> {
    let repeats = data.repeats.len();
    let settled = |one: &States| one.repeats == repeats && repeats >= FEWEST_REPEATS;
    let open = found.iter().find(|one| has_one_outside(data, one) && !settled(one))?;
    Some(format!(
        "one of the two states of `{}` is outside the promise, and {} of {} were in both; \
         all of {FEWEST_REPEATS} or more must be to show how much of it a run has",
        open.group,
        open.repeats,
        count(repeats, "repeat")
    ))
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
    let longest = series.iter().map(Vec::len).max().unwrap_or(0);
    let least = LEAST_SPANS.max((LEAST_PART * longest as f64).ceil() as usize);
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

/// Partition of sorted values in two with the least sum of squares within.
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
    use crate::decide::Side;
    use crate::estimates::Observed;
    use crate::expected::Expected;
    use assay_stats::Grid;
    use assay_stats::batches::Quantity;

    fn find_in(times: impl Iterator<Item = f64>) -> Option<States> {
        let spans = Spans { times: times.map(Some).collect(), length_s: 1.0 };
        of_group(&[&spans], "task1", 0.1)
    }

    fn ripple(second: usize) -> f64 {
        1.0 + [0.03, -0.02, 0.01, -0.03, 0.02][second % 5]
    }

    /// 40 seconds, of which the first ones had this multiple of the share.
    fn stepped(times: f64, seconds: usize) -> Spans {
        let times = (0..40).map(|at| Some(ripple(at) * if at < seconds { times } else { 1.0 }));
        Spans { times: times.collect(), length_s: 1.0 }
    }

    #[test]
    fn two_states_are_reported_with_their_durations() {
        let found =
            find_in((0..45).map(|at| ripple(at) * if at < 22 { 2.0 } else { 1.0 })).unwrap();
        assert_eq!(found.seconds, [23.0, 22.0]);
        assert!((found.times[0] - 1.0).abs() < 0.05 && (found.times[1] - 2.0).abs() < 0.05);
    }

    #[test]
    fn more_repeats_do_not_hide_a_state_of_one() {
        let spans = |twice: usize| stepped(2.0, twice);
        let (moved, steady) = (spans(5), spans(0));
        let repeats: Vec<&Spans> = std::iter::once(&moved).chain([&steady; 9]).collect();
        let found = of_group(&repeats, "task1", 0.1).unwrap();
        assert_eq!((found.seconds, found.repeats), ([395.0, 5.0], 1));
        let hiccup = spans(1);
        assert_eq!(of_group(&[&hiccup, &steady], "task1", 0.1), None);
    }

    #[test]
    fn a_clearer_state_of_another_group_hides_nothing() {
        let grid = Grid::default();
        let observed = |number| Observed { number, observed: &grid, judged: &grid };
        let data = PromiseData {
            names: vec!["a".to_owned(), "b".to_owned()],
            expected: vec![Expected::plain(None, 0.5); 2],
            quantity: Quantity::Share,
            side: Side::Both,
            within: 0.1,
            confidence: 0.95,
            every: None,
            repeats: (1..=3).map(observed).collect(),
        };
        let repeat = |of_b: usize| vec![stepped(1.2, 4), stepped(1.18, of_b)];
        let all = find(&data, &[repeat(3), repeat(0), repeat(0)]);
        assert_eq!(clearest(&data, &all).map(|one| one.group), Some("a".to_owned()));
        let open = unsettled(&data, &all).unwrap();
        assert!(open.contains("of `b`") && open.contains("1 of 3 repeats"), "{open}");
        let all = find(&data, &[repeat(3), repeat(3), repeat(3)]);
        assert_eq!((all.len(), unsettled(&data, &all)), (2, None));
    }

    #[test]
    fn noise_and_alternation_are_not_states() {
        assert_eq!(find_in((0..45).map(ripple)), None);
        let turns = (0..45).map(|at| ripple(at) * if at % 2 == 0 { 2.0 } else { 1.0 });
        assert_eq!(find_in(turns), None);
    }
}
