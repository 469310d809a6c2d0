//! Wording of a comparison of two runs.

use assay_judge::verdict::{
    Equivalence, Estimated, MeasureComparison, PromiseChange, RunComparison, TrialComparison,
};
use assay_record::run_folder::Levels;
use assay_record::terms::RelationKind;

use crate::number::{self, NONE, Unit};
use crate::wording;

/// An equivalence class in words.
pub(crate) const fn word(equivalence: Equivalence) -> &'static str {
    match equivalence {
        Equivalence::Equal => "equal",
        Equivalence::Better => "better",
        Equivalence::Worse => "worse",
        Equivalence::Different => "different",
        Equivalence::Undecided => "undecided",
        Equivalence::NotComparable => "not comparable",
    }
}

/// The meaning of the overall verdict.
pub(crate) fn meaning(comparison: &RunComparison) -> String {
    let margin = format!("{} %", number::plain(comparison.within * 100.0));
    match (comparison.verdict, comparison.baseline) {
        (Equivalence::Equal, true) => format!("Nothing became worse by more than {margin}."),
        (Equivalence::Equal, false) => format!("B is equal to A within {margin}."),
        (Equivalence::Better, _) => "Nothing became worse, and something became better.".to_owned(),
        (Equivalence::Worse, _) => format!("Something became worse by more than {margin}."),
        (Equivalence::Different, true) => format!(
            "Something differs by more than {margin}, and which way would be worse is unknown."
        ),
        (Equivalence::Different, false) => format!("B differs from A by more than {margin}."),
        (Equivalence::Undecided, _) => "These repeats leave it open; more may tell.".to_owned(),
        (Equivalence::NotComparable, _) => "There is nothing to compare.".to_owned(),
    }
}

/// The levels of a trial; compared ones as `weight = 100 against 400`.
pub(crate) fn heading(trial: &TrialComparison) -> String {
    let mut parts = Vec::new();
    if !trial.factors.is_empty() || trial.a_factors.is_empty() {
        parts.push(wording::factors(&trial.factors));
    }
    if !trial.a_factors.is_empty() || !trial.b_factors.is_empty() {
        let of = |levels: &Levels| match levels.is_empty() {
            true => "without".to_owned(),
            false => wording::factors(levels),
        };
        parts.push(format!("{} against {}", of(&trial.a_factors), of(&trial.b_factors)));
    }
    parts.join(", ")
}

/// `share of io.bytes`, `reader.read_p99_ns`.
pub(crate) fn measure(one: &MeasureComparison) -> String {
    match one.of.as_str() {
        "share" => format!("share of {}", one.measure),
        "in_place" => format!("{} in place", one.measure),
        _ => one.measure.clone(),
    }
}

/// The group of a measure, or `all`.
pub(crate) fn group(one: &MeasureComparison) -> String {
    one.group.clone().unwrap_or_else(|| "all".to_owned())
}

/// A value of one side with its unit.
pub(crate) fn value(one: &MeasureComparison, side: &Estimated) -> String {
    let Some(value) = side.value else { return NONE.to_owned() };
    match one.of.as_str() {
        "share" | "in_place" => {
            format!("{} %", number::percent(value, number::percent_decimals(value)))
        }
        "number" => number::four(value),
        _ => Unit::for_rate(&one.measure, value).with_label(value),
    }
}

/// Whether A and B differ: reported in addition to equivalence.
pub(crate) fn difference(one: &MeasureComparison) -> &'static str {
    match (one.ratio, one.differs) {
        (None, _) => NONE,
        (_, Some(true)) => "surely",
        (_, Some(false)) => "no",
        (_, None) => "open",
    }
}

/// `io.bytes proportional to io.weight`.
pub(crate) fn promise(change: &PromiseChange) -> String {
    let kind = RelationKind::parse(&change.is);
    let is = kind.map_or_else(|| change.is.clone(), |kind| kind.in_words(change.to.as_deref()));
    format!("{} {is}", change.measure)
}

/// The largest error of one side.
pub(crate) fn error(state: &assay_judge::verdict::PromiseState) -> String {
    let error = state.worst_error.map(wording::error_interval);
    error.unwrap_or_else(|| NONE.to_owned())
}

/// Measures by relevance: first deciding ones, then unequal ones; of the others only the count.
pub(crate) fn listed(trial: &TrialComparison, limit: usize) -> (Vec<&MeasureComparison>, usize) {
    let is_relevant = |one: &&MeasureComparison| {
        one.decides || !matches!(one.verdict, Equivalence::Equal | Equivalence::NotComparable)
    };
    let mut shown: Vec<&MeasureComparison> = trial.measures.iter().filter(is_relevant).collect();
    let far = |one: &MeasureComparison| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    if shown.len() > limit {
        shown.sort_by(|a, b| {
            (b.decides, far(b))
                .partial_cmp(&(a.decides, far(a)))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        shown.truncate(limit);
    }
    let hidden = trial.measures.len() - shown.len();
    (shown, hidden)
}
