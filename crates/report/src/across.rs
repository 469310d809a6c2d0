//! Wording of promises across trials and of references.

use std::collections::BTreeSet;

use assay_judge::verdict::{
    ComparisonJudgement, LevelJudgement, PromiseJudgement, ReferenceJudgement,
};
use assay_record::run_folder::Levels;

use crate::number::{self, NONE, Unit};
use crate::wording;

/// The id of a promise's section.
pub(crate) fn anchor(number: usize) -> String {
    format!("comparison-{number}")
}

/// One promise across trials with all its judgements: one for each combination of the held factors.
pub(crate) struct Across<'j> {
    /// Number in headings, from 1.
    pub(crate) number: usize,
    /// At least one.
    pub(crate) judged: &'j [ComparisonJudgement],
}

/// The promises across trials, in the order of the study.
pub(crate) fn promises(comparisons: &[ComparisonJudgement]) -> Vec<Across<'_>> {
    let of_one_promise = |a: &ComparisonJudgement, b: &ComparisonJudgement| {
        let promise = |one: &ComparisonJudgement| {
            (one.measure.clone(), one.group.clone(), one.over.clone(), sentence(one))
        };
        // A repeated combination of held levels marks the start of the next promise.
        promise(a) == promise(b) && a.held != b.held
    };
    let chunks = comparisons.chunk_by(of_one_promise).enumerate();
    chunks.map(|(index, judged)| Across { number: index + 1, judged }).collect()
}

/// A promise across trials as a sentence fragment.
#[must_use]
pub fn sentence(one: &ComparisonJudgement) -> String {
    let relation = match (one.at_least, one.at_most, one.within) {
        (_, _, Some(within)) => format!(
            "the same at every level of {}, within {} %",
            one.over.join(", "),
            number::plain(within * 100.0)
        ),
        (Some(low), Some(high), _) => {
            format!("{} to {} times {}", number::four(low), number::four(high), divided_by(one))
        }
        (Some(low), None, _) => format!("at least {} times {}", number::four(low), divided_by(one)),
        (None, Some(high), _) => {
            format!("at most {} times {}", number::four(high), divided_by(one))
        }
        (None, None, None) => format!("compared over {}", one.over.join(", ")),
    };
    let group = one.group.as_ref().map_or_else(String::new, |group| format!(" of {group}"));
    let of = match one.within {
        Some(_) => String::new(),
        None => one
            .pairs
            .first()
            .map_or_else(String::new, |pair| format!(" under {}", wording::factors(&pair.of))),
    };
    format!("{}{group}{of} is {relation}", one.measure)
}

fn divided_by(one: &ComparisonJudgement) -> String {
    one.pairs
        .first()
        .map_or_else(String::new, |pair| format!("that under {}", wording::factors(&pair.to)))
}

/// The heading: the measure and the factors over which it is compared.
pub(crate) fn heading(one: &ComparisonJudgement) -> String {
    format!("{} over {}", one.measure, one.over.join(", "))
}

/// The levels of the held factors; empty if there are none.
pub(crate) fn held(one: &ComparisonJudgement) -> String {
    if one.held.is_empty() { String::new() } else { wording::factors(&one.held) }
}

/// Levels without factor names, for narrow columns: `interleave`.
pub(crate) fn level(levels: &Levels) -> String {
    let values: Vec<String> = levels.values().map(wording::level).collect();
    values.join(", ")
}

/// A readable unit for the levels of one comparison.
pub(crate) fn unit(measure: &str, levels: &[LevelJudgement]) -> Unit {
    let largest = levels.iter().filter_map(|level| level.value).fold(0.0, f64::max);
    Unit::for_rate(measure, largest)
}

/// An interval or a dash.
pub(crate) fn interval(
    low: Option<f64>,
    high: Option<f64>,
    write: impl Fn(f64) -> String,
) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} .. {}", write(low), write(high)),
        _ => NONE.to_owned(),
    }
}

/// The levels of a reference, and those by which our value is divided; empty for all trials.
pub(crate) fn under(reference: &ReferenceJudgement) -> String {
    if reference.under.is_empty() {
        return String::new();
    }
    let under = wording::factors(&reference.under);
    match reference.to.is_empty() {
        true => under,
        false => format!("{under}, divided by that under {}", wording::factors(&reference.to)),
    }
}

/// Our values for a reference. Why there is none is said once, for all references of the same `reasons`.
pub(crate) fn ours(reference: &ReferenceJudgement, reasons: &mut BTreeSet<String>) -> String {
    if reference.measure.is_none() {
        return "no comparable number".to_owned();
    }
    if reference.ours.is_empty() {
        return "no trial has these levels".to_owned();
    }
    let all: Vec<&Levels> = reference.ours.iter().map(|level| &level.factors).collect();
    let mut text = |level: &LevelJudgement| {
        let before = match varying(&level.factors, &all) {
            levels if levels.is_empty() => levels,
            levels => format!("{levels}: "),
        };
        let Some(value) = level.value else {
            let why = level.not_available.as_deref().unwrap_or("not a positive number");
            return match reasons.insert(why.to_owned()) {
                true => format!("{before}not available: {why}"),
                false => format!("{before}not available"),
            };
        };
        let range = interval(level.low, level.high, number::four).replace(" .. ", " to ");
        let range = if range == NONE { "one repeat".to_owned() } else { range };
        format!("{before}{} ({range})", number::four(value))
    };
    reference.ours.iter().map(&mut text).collect::<Vec<_>>().join("; ")
}

/// The levels by which this one differs from some of `all`, as text.
pub(crate) fn varying(one: &Levels, all: &[&Levels]) -> String {
    let varies = |name: &str| all.iter().any(|other| other.get(name) != one.get(name));
    let own = one.iter().filter(|(name, _)| varies(name));
    match own.map(|(name, level)| (name.clone(), level.clone())).collect::<Levels>() {
        own if own.is_empty() => String::new(),
        own => wording::factors(&own),
    }
}

/// What groups got, relative to the first, as a published division is written: `1.00 : 2.03 for io.weight 100 : 200`.
pub(crate) fn division(promise: &PromiseJudgement) -> Option<String> {
    let groups = &promise.groups;
    let is_short = promise.divides_by_knob() && (2..=8).contains(&groups.len());
    let first = groups.first().map(|group| group.share).filter(|share| is_short && *share > 0.0)?;
    let weights: Option<Vec<String>> =
        groups.iter().map(|group| group.knob.map(number::plain)).collect();
    let got: Vec<String> =
        groups.iter().map(|group| format!("{:.2}", group.share / first)).collect();
    Some(format!("{} for {} {}", got.join(" : "), promise.to.as_ref()?, weights?.join(" : ")))
}
