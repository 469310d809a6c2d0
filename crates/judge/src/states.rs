//! Two states of a run, whose mean describes neither.

use assay_stats::spans::Spans;
use assay_verdict::States;
use assay_verdict::wording::count;

use crate::promise_data::PromiseData;

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
    levels(data, spans).filter(|(_, length)| *length == Length::State).map(|(one, _)| one).collect()
}

/// Two levels of a group, one of them outside the promise, where that was too short for a state.
pub(crate) fn brief(data: &PromiseData<'_>, spans: &[Vec<Spans>]) -> Option<String> {
    let mut all: Vec<(States, Length)> = levels(data, spans).collect();
    all.retain(|(one, length)| *length != Length::State && has_one_outside(data, one));
    let apart = |one: &States| one.times[1] / one.times[0];
    let (brief, length) = all.into_iter().max_by(|a, b| apart(&a.0).total_cmp(&apart(&b.0)))?;
    let Length::Brief { stretch_s } = length else { return None };
    let short = if brief.seconds[0] < brief.seconds[1] { 0 } else { 1 };
    Some(format!(
        "`{}` had {:.2} times its promise for {:.1} s, at most {stretch_s:.1} s at a stretch, and \
         {:.2} times for {:.1} s: too short to tell a state from an accident",
        brief.group,
        brief.times[short],
        brief.seconds[short],
        brief.times[1 - short],
        brief.seconds[1 - short]
    ))
}

/// How long the shorter of two levels was.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Length {
    /// Long enough, and mostly at a stretch.
    State,
    /// Too short for a state, or in pieces, of which this was the longest.
    Brief { stretch_s: f64 },
}

/// The two levels of each group whose spans have two.
fn levels<'a>(
    data: &'a PromiseData<'_>,
    spans: &'a [Vec<Spans>],
) -> impl Iterator<Item = (States, Length)> + 'a {
    data.names.iter().enumerate().filter_map(|(group, name)| {
        let repeats: Vec<&Spans> = spans.iter().filter_map(|repeat| repeat.get(group)).collect();
        of_group(&repeats, name, data.within)
    })
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

fn of_group(repeats: &[&Spans], name: &str, within: f64) -> Option<(States, Length)> {
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
    let are_apart =
        (high / low - 1.0) > within && (split.means[1] - split.means[0]) >= APART * split.deviation;
    let length_s = repeats.first()?.length_s;
    let length = match fewest >= least && changes as f64 <= FEW_CHANGES * by_chance {
        true => Length::State,
        false => Length::Brief { stretch_s: longest_stretch(&series, &split) as f64 * length_s },
    };
    let moved = |one: &&Vec<f64>| {
        one.iter().any(|span| *span < split.edge) && one.iter().any(|span| *span >= split.edge)
    };
    let states = States {
        group: name.to_owned(),
        times: [low, high],
        seconds: [split.below, sorted.len() - split.below].map(|spans| spans as f64 * length_s),
        repeats: series.iter().filter(moved).count(),
    };
    are_apart.then_some((states, length))
}

/// The most successive spans in the level that fewer spans have.
fn longest_stretch(series: &[Vec<f64>], split: &Split) -> usize {
    let all: usize = series.iter().map(Vec::len).sum();
    let is_short = |one: &f64| (*one < split.edge) == (2 * split.below < all);
    let stretches = series.iter().flat_map(|one| one.split(|span| !is_short(span)));
    stretches.map(<[f64]>::len).max().unwrap_or(0)
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
    use crate::expected::Expected;
    use crate::promise_data::Observed;
    use assay_stats::Grid;
    use assay_stats::batches::Quantity;
    use assay_terms::Side;

    fn find_in(times: impl Iterator<Item = f64>) -> Option<States> {
        let spans = Spans { times: times.map(Some).collect(), length_s: 1.0 };
        state(&[&spans])
    }

    fn state(repeats: &[&Spans]) -> Option<States> {
        let found = of_group(repeats, "task1", 0.1);
        found.filter(|(_, length)| *length == Length::State).map(|(states, _)| states)
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
        let found = state(&repeats).unwrap();
        assert_eq!((found.seconds, found.repeats), ([395.0, 5.0], 1));
        let hiccup = spans(1);
        assert_eq!(state(&[&hiccup, &steady]), None);
        let (brief, length) = of_group(&[&hiccup, &steady], "task1", 0.1).unwrap();
        assert_eq!((brief.seconds, length), ([79.0, 1.0], Length::Brief { stretch_s: 1.0 }));
    }

    #[test]
    fn a_clearer_state_of_another_group_hides_nothing() {
        let grid = Grid::default();
        let observed = |number| Observed { number, observed: &grid, judged: &grid };
        let data = PromiseData {
            names: vec!["a".to_owned(), "b".to_owned()],
            expected: vec![Expected::plain(None, 0.5); 2],
            quantity: Quantity::Share,
            unit: 0.0,
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
        // A second each in three repeats: long enough together, and in pieces.
        let mut turned = [stepped(2.0, 1), stepped(2.0, 1), stepped(2.0, 1)];
        turned[1].times.rotate_right(7);
        turned[2].times.rotate_right(20);
        let repeats: Vec<&Spans> = turned.iter().collect();
        let (brief, length) = of_group(&repeats, "task1", 0.1).unwrap();
        assert_eq!((brief.seconds, length), ([117.0, 3.0], Length::Brief { stretch_s: 1.0 }));
    }
}
