//! Observations: facts about the observed seconds, whose only error is the counters' grain.

use assay_stats::batches::{self, Quantity, Within};
use assay_stats::over_repeats::simultaneous;
use assay_stats::pooled::{Estimate, Range};
use assay_stats::student::t_quantile;
use assay_verdict::wording::{number, percent};
use assay_verdict::{Interval, Observation, States, Verdict};

use crate::decide::{self, Deviation};
use crate::promise_data::{Observed, PromiseData};
use crate::states;

/// Each group's share or rate over all observed seconds. A counter read at intervals may have one
/// interval's amount on the wrong side of an edge: that is its grain.
pub(crate) fn facts(data: &PromiseData<'_>) -> Vec<Interval> {
    let seconds: f64 = data.repeats.iter().map(|repeat| repeat.observed.seconds()).sum();
    let mean = |of: &dyn Fn(&Observed<'_>) -> f64| -> f64 {
        data.repeats.iter().map(|one| of(one) * one.observed.seconds()).sum::<f64>() / seconds
    };
    let of_group = |group: usize| {
        let whole = |one: &Observed<'_>| data.quantity.whole(one.observed);
        let value = mean(&|one| one.observed.totals()[group] / whole(one));
        let grain = mean(&|one| grain(one, group) / whole(one));
        Interval { value, low: (value - grain).max(0.0), high: value + grain }
    };
    (0..data.names.len()).map(of_group).collect()
}

/// The largest step of a group; of a group with a total of zero the largest step of any.
fn grain(repeat: &Observed<'_>, group: usize) -> f64 {
    let own = repeat.observed.increments(group).into_iter().fold(0.0, f64::max);
    if own > 0.0 { own } else { repeat.observed.largest_increment() }
}

/// The complete observation.
pub(crate) fn was(
    data: &PromiseData<'_>,
    within: &[Within],
    facts: &[Interval],
    found: &[States],
) -> Option<Observation> {
    let deviations = deviations(data, facts);
    let furthest = furthest(&deviations, data.within)?;
    let kept = |repeat: &&Observed<'_>| data.error(repeat.observed) <= data.within;
    Some(Observation {
        verdict: Verdict::worst(deviations.iter().map(|one| one.verdict(data.within))),
        seconds: data.repeats.iter().map(|repeat| repeat.observed.seconds()).sum(),
        group: data.names[furthest].clone(),
        error: decide::worst(&deviations[furthest..=furthest])?,
        repeats_kept: data.repeats.iter().filter(kept).count(),
        repeats: data.repeats.len(),
        states: states::clearest(data, found),
        in_warm_up: in_warm_up(data, within),
    })
}

/// How far each group was from its promise.
pub(crate) fn deviations(data: &PromiseData<'_>, facts: &[Interval]) -> Vec<Deviation> {
    let each = facts.iter().zip(&data.expected);
    each.map(|(fact, expected)| {
        let Interval { value, low, high } = *fact;
        let exact = Estimate { value, low, high, broken: Range { low, high } };
        Deviation::new(&exact, expected.share, data.side)
    })
    .collect()
}

/// The group furthest off, of those with the worst verdict: a light group may be further off than a
/// heavy one and yet within its grain.
fn furthest(deviations: &[Deviation], within: f64) -> Option<usize> {
    let worst = Verdict::worst(deviations.iter().map(|one| one.verdict(within)));
    let each = deviations.iter().enumerate().filter(|(_, one)| one.verdict(within) == worst);
    each.max_by(|a, b| a.1.value.total_cmp(&b.1.value)).map(|(group, _)| group)
}

/// A breach of the promise: the group furthest off over all seconds, by more than the counters'
/// grain; otherwise a breach in the warm-up that was cut; otherwise in spans. `None` without one.
pub(crate) fn broken(data: &PromiseData<'_>) -> Option<String> {
    let deviations = deviations(data, &facts(data));
    let outside = |deviation: &Deviation| deviation.verdict(data.within) == Verdict::Broken;
    let group = furthest(&deviations, data.within).filter(|group| outside(&deviations[*group]));
    let off = |group: usize| {
        format!("`{}` was off by {}", data.names[group], percent(deviations[group].value))
    };
    let in_cut = || {
        let shares: Vec<f64> = data.expected.iter().map(|expected| expected.share).collect();
        let within = data.repeats.iter();
        let within =
            within.map(|one| batches::of_repeat(one.judged, data.quantity, &shares, data.unit));
        in_warm_up(data, &within.collect::<Option<Vec<_>>>()?)
    };
    group.map(off).or_else(in_cut).or_else(|| in_spans(data))
}

/// The group that held in the smallest part of its spans, where that is less than promised.
fn in_spans(data: &PromiseData<'_>) -> Option<String> {
    let (every, spans) = (data.every?, data.spans());
    let held = |group: usize| {
        let error = |times: f64| data.side.error(times, 1.0);
        let counted = spans.iter().map(|repeat| repeat[group].held(error, data.within));
        let (held, of) = counted.fold((0.0, 0.0), |sum, one| (sum.0 + one.held, sum.1 + one.of));
        (of > 0.0).then(|| (group, held / of))
    };
    let found = (0..data.names.len()).filter_map(held);
    let (group, part) = found.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (part < every.part).then(|| {
        format!(
            "`{}` held in {} of the spans of {} s",
            data.names[group],
            percent(part),
            number(every.span_s)
        )
    })
}

/// A group outside the margin in the warm-up that was cut, by more than the noise of the rest of
/// the window explains.
fn in_warm_up(data: &PromiseData<'_>, within: &[Within]) -> Option<String> {
    let sure = simultaneous(data.confidence, data.names.len() * data.repeats.len());
    let mut worst: Option<(f64, String)> = None;
    for (repeat, within) in data.repeats.iter().zip(within) {
        let steps = repeat.observed.steps - repeat.judged.steps.min(repeat.observed.steps);
        let ahead = (repeat.judged.start_ns - repeat.observed.start_ns) / repeat.observed.step_ns;
        let steps = steps.min(ahead as usize);
        if steps == 0 {
            continue;
        }
        let row = repeat.observed.row(steps);
        let seconds = steps as f64 * repeat.observed.step_s();
        let quantile = t_quantile(sure, within.freedom);
        let whole = match data.quantity {
            Quantity::Share => row.iter().sum(),
            Quantity::Rate => seconds,
        };
        for (group, expected) in data.expected.iter().enumerate() {
            let share = row[group] / whole;
            let error = data.side.error(share, expected.share);
            let noise = within.errors[group] * (repeat.judged.steps as f64 / steps as f64).sqrt();
            // Relative to the promise.
            let reach = (quantile * noise).exp_m1() * share / expected.share
                + grain(repeat, group) / whole / expected.share;
            if error - reach > data.within && worst.as_ref().is_none_or(|(most, _)| error > *most) {
                let text = format!(
                    "in the {seconds:.1} s cut as warm-up of repeat {} `{}` was off by {}",
                    repeat.number,
                    data.names[group],
                    percent(share / expected.share - 1.0)
                );
                worst = Some((error, text));
            }
        }
    }
    worst.map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_light_group_within_its_grain_does_not_hide_a_heavy_one_that_is_outside() {
        let light = Deviation { value: 0.13, low: 0.09, high: 0.17 };
        let heavy = Deviation { value: 0.12, low: 0.108, high: 0.132 };
        assert_eq!(furthest(&[light, heavy], 0.1), Some(1));
        assert_eq!(furthest(&[light, heavy], 0.2), Some(0));
    }

    #[test]
    fn a_group_that_is_too_close_to_tell_is_named_before_one_that_is_kept() {
        let coarse = Deviation { value: 0.08, low: 0.02, high: 0.14 };
        let kept = Deviation { value: 0.09, low: 0.085, high: 0.095 };
        assert_eq!(furthest(&[coarse, kept], 0.1), Some(0));
    }
}
