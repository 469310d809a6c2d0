//! Promises across trials, and references.

use assay_escape::page::{Part, Parts, Rows, Section};
use assay_run_folder::Levels;
use assay_verdict::{
    ComparisonJudgement, Judgement, LevelJudgement, PairJudgement, ReferenceJudgement,
};

use crate::figure;
use crate::number::{self, NONE, Unit};
use crate::wording;

/// A section for each promise across trials, and one for all references.
pub(crate) fn sections(judgement: &Judgement) -> Vec<Section> {
    let promises = promises(&judgement.comparisons).into_iter();
    let mut sections: Vec<Section> =
        promises.map(|promise| section(&promise, &judgement.references)).collect();
    if !judgement.references.is_empty() {
        sections.push(references(&judgement.references));
    }
    sections
}

fn section(promise: &Across<'_>, references: &[ReferenceJudgement]) -> Section {
    let first = &promise.judged[0];
    let worst = wording::worst(promise.judged.iter().map(|one| one.verdict));
    Section::new(anchor(promise.number), heading(first), |page| {
        page.styled("says", sentence(first));
        page.figures(vec![figure::levels(promise, references)]);
        promise.judged.iter().for_each(|one| judged(one, page));
    })
    .tagged(wording::tag(worst))
}

/// The judgement under one combination of the held factors.
fn judged(one: &ComparisonJudgement, page: &mut Parts) {
    let tag = wording::tag(one.verdict);
    let inside = Parts::of(|page| {
        let held = held(one);
        if !held.is_empty() {
            page.tagged("says", format!("held: {held}"), Some(tag.clone()));
        }
        page.styled("reason", wording::sentence(&one.reason));
    });
    page.0.push(Part::Box(tag.tone, inside));
    let unit = unit(&one.measure, &one.levels);
    page.table(
        Rows::new(&one.levels)
            .left("level", 0, |level| wording::factors(&level.factors))
            .right(("mean", unit.label), 0, |level| {
                number::or_none(level.value, |value| unit.number(value))
            })
            .right("interval", 2, |level| {
                interval(level.low, level.high, |value| unit.number(value))
            })
            .right("repeats", 1, |level| level.repeats.to_string())
            .missing(|level| level.not_available.clone()),
    );
    if !one.pairs.is_empty() {
        page.table(
            Rows::new(&one.pairs)
                .left("pair", 0, |pair: &PairJudgement| {
                    format!("{} / {}", level(&pair.of), level(&pair.to))
                })
                .right("ratio", 0, |pair| number::or_none(pair.ratio, number::three))
                .right("interval", 1, |pair| interval(pair.low, pair.high, number::three))
                .right("repeats", 2, |pair| pair.repeats.to_string())
                .left("verdict", 0, |pair| wording::tag(pair.verdict)),
        );
    }
    if let Some(needs) = wording::needs_repeats(one.needs_repeats) {
        page.styled("needs", needs);
    }
}

/// The published number, our value, the source.
fn references(references: &[ReferenceJudgement]) -> Section {
    Section::new("references", "References", |page| {
        page.styled(
            "reading",
            "External numbers from another machine, another kernel and another time, shown for comparison and never \
             judged.",
        );
        for reference in references {
            let under = match under(reference) {
                under if under.is_empty() => under,
                under => format!(" ({under})"),
            };
            page.styled("says", format!("{}{under}", reference.what));
            let theirs = format!("reference: {} {}", number::four(reference.value), reference.unit);
            let ours = ours(reference).into_iter().map(|ours| format!("this run: {ours}"));
            page.list(
                [theirs].into_iter().chain(ours).chain([format!("source: {}", reference.source)]),
            );
        }
    })
}

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
fn under(reference: &ReferenceJudgement) -> String {
    if reference.under.is_empty() {
        return String::new();
    }
    let under = wording::factors(&reference.under);
    match reference.to.is_empty() {
        true => under,
        false => format!("{under}, divided by that under {}", wording::factors(&reference.to)),
    }
}

/// Our values for a reference, one text per matching trial.
fn ours(reference: &ReferenceJudgement) -> Vec<String> {
    if reference.measure.is_none() {
        return vec!["no comparable number".to_owned()];
    }
    if reference.ours.is_empty() {
        return vec!["no trial of this run has these levels".to_owned()];
    }
    let several = reference.ours.len() > 1;
    let text = |level: &LevelJudgement| {
        let levels = wording::factors(&level.factors);
        let before = if several { format!("{levels}: ") } else { String::new() };
        match (level.value, &level.not_available) {
            (Some(value), _) => {
                let range = interval(level.low, level.high, number::four).replace(" .. ", " to ");
                let range = if range == NONE { "one repeat".to_owned() } else { range };
                format!("{before}{} ({range})", number::four(value))
            }
            (None, why) => format!(
                "{before}not available: {}",
                why.as_deref().unwrap_or("not a positive number")
            ),
        }
    };
    reference.ours.iter().map(text).collect()
}
