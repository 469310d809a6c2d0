//! What was: facts about the observed seconds, with nothing but the counters' grain as error.

use crate::decide::{self, Offence};
use crate::estimates::{Asked, Observed};
use crate::states;
use assay_stats::batches::{self, Quantity, Within};
use assay_stats::over_repeats::of_all;
use assay_stats::pooled::{Estimate, Range};
use assay_stats::student::t_quantile;
use assay_verdict::wording::{number, percent};
use assay_verdict::{Interval, Observation, States, Verdict};

/// Each group's share or rate over all observed seconds. A counter that is read at intervals may
/// have what came in one of them on the wrong side of an edge: that is its grain.
pub(crate) fn facts(asked: &Asked<'_>) -> Vec<Interval> {
    let seconds: f64 = asked.repeats.iter().map(|repeat| repeat.observed.seconds()).sum();
    let mean = |of: &dyn Fn(&Observed<'_>) -> f64| -> f64 {
        asked.repeats.iter().map(|one| of(one) * one.observed.seconds()).sum::<f64>() / seconds
    };
    let of_group = |group: usize| {
        let whole = |one: &Observed<'_>| asked.quantity.whole(one.observed);
        let value = mean(&|one| one.observed.totals()[group] / whole(one));
        let grain = mean(&|one| grain(one, group) / whole(one));
        Interval { value, low: (value - grain).max(0.0), high: value + grain }
    };
    (0..asked.names.len()).map(of_group).collect()
}

/// The largest step of a group; of one that got nothing the largest step of any.
fn grain(repeat: &Observed<'_>, group: usize) -> f64 {
    let own = repeat.observed.increments(group).into_iter().fold(0.0, f64::max);
    if own > 0.0 { own } else { repeat.observed.largest_increment() }
}

/// All of it in one place.
pub(crate) fn was(
    asked: &Asked<'_>,
    within: &[Within],
    facts: &[Interval],
    found: &[States],
) -> Option<Observation> {
    let offences = offences(asked, facts);
    let furthest = furthest(&offences)?;
    let kept = |repeat: &&Observed<'_>| asked.error(repeat.observed) <= asked.within;
    Some(Observation {
        verdict: Verdict::worst(offences.iter().map(|one| one.verdict(asked.within))),
        seconds: asked.repeats.iter().map(|repeat| repeat.observed.seconds()).sum(),
        group: asked.names[furthest].clone(),
        error: decide::worst(&offences[furthest..=furthest])?,
        repeats_kept: asked.repeats.iter().filter(kept).count(),
        repeats: asked.repeats.len(),
        states: states::clearest(asked, found),
        in_warm_up: in_warm_up(asked, within),
    })
}

fn offences(asked: &Asked<'_>, facts: &[Interval]) -> Vec<Offence> {
    let each = facts.iter().zip(&asked.expected);
    each.map(|(fact, expected)| {
        let Interval { value, low, high } = *fact;
        let exact = Estimate { value, low, high, broken: Range { low, high } };
        Offence::new(&exact, expected.share, asked.side)
    })
    .collect()
}

fn furthest(offences: &[Offence]) -> Option<usize> {
    let each = offences.iter().enumerate();
    each.max_by(|a, b| a.1.value.total_cmp(&b.1.value)).map(|(group, _)| group)
}

/// What was outside of the promise: the group that was furthest off over all seconds, by more than the
/// counters' grain; else what was cut as warm-up; else spans. `None` where nothing was.
pub(crate) fn broken(asked: &Asked<'_>) -> Option<String> {
    let offences = offences(asked, &facts(asked));
    let outside = |offence: &Offence| offence.verdict(asked.within) == Verdict::Broken;
    let group = furthest(&offences).filter(|group| outside(&offences[*group]));
    let off = |group: usize| {
        format!("`{}` was off by {}", asked.names[group], percent(offences[group].value))
    };
    let in_cut = || {
        let within = asked.repeats.iter().map(|one| batches::of_repeat(one.judged, asked.quantity));
        in_warm_up(asked, &within.collect::<Option<Vec<_>>>()?)
    };
    group.map(off).or_else(in_cut).or_else(|| in_spans(asked))
}

/// The group that held in the smallest part of its spans, where that is less than promised.
fn in_spans(asked: &Asked<'_>) -> Option<String> {
    let (every, spans) = (asked.every?, asked.spans());
    let held = |group: usize| {
        let error = |times: f64| asked.side.error(times, 1.0);
        let counted = spans.iter().map(|repeat| repeat[group].held(error, asked.within));
        let (held, of) = counted.fold((0.0, 0.0), |sum, one| (sum.0 + one.held, sum.1 + one.of));
        (of > 0.0).then(|| (group, held / of))
    };
    let found = (0..asked.names.len()).filter_map(held);
    let (group, part) = found.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (part < every.part).then(|| {
        format!(
            "`{}` held in {} of the spans of {} s",
            asked.names[group],
            percent(part),
            number(every.span_s)
        )
    })
}

/// A group that was outside of the margin in what was cut as warm-up, by more than the noise of the
/// window after it explains.
fn in_warm_up(asked: &Asked<'_>, within: &[Within]) -> Option<String> {
    let sure = of_all(asked.confidence, asked.names.len() * asked.repeats.len());
    let mut worst: Option<(f64, String)> = None;
    for (repeat, within) in asked.repeats.iter().zip(within) {
        let steps = repeat.observed.steps - repeat.judged.steps.min(repeat.observed.steps);
        let ahead = (repeat.judged.start_ns - repeat.observed.start_ns) / repeat.observed.step_ns;
        let steps = steps.min(ahead as usize);
        if steps == 0 {
            continue;
        }
        let row = repeat.observed.row(steps);
        let seconds = steps as f64 * repeat.observed.step_s();
        let quantile = t_quantile(sure, within.freedom);
        let whole = match asked.quantity {
            Quantity::Share => row.iter().sum(),
            Quantity::Rate => seconds,
        };
        for (group, expected) in asked.expected.iter().enumerate() {
            let share = row[group] / whole;
            let error = asked.side.error(share, expected.share);
            let noise = within.errors[group] * (repeat.judged.steps as f64 / steps as f64).sqrt();
            // Of the share, as a part of what was promised.
            let reach = (quantile * noise).exp_m1() * share / expected.share
                + grain(repeat, group) / whole / expected.share;
            if error - reach > asked.within && worst.as_ref().is_none_or(|(most, _)| error > *most)
            {
                let text = format!(
                    "in the {seconds:.1} s that are cut as warm-up of repeat {} `{}` was off by {}",
                    repeat.number,
                    asked.names[group],
                    percent(share / expected.share - 1.0)
                );
                worst = Some((error, text));
            }
        }
    }
    worst.map(|(_, text)| text)
}
