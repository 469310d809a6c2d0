//! The verdict of a comparison and its sentence.

use crate::verdict::wording::{count, few, levels, margin, number, percent};
use crate::verdict::{
    Equivalence, MeasureComparison, PromiseChange, RunComparison, TrialComparison,
};
use assay_stats::rule::FEWEST;

use super::equivalence::leaves_open;

/// A refused comparison.
pub(super) fn refused(mut document: RunComparison, why: String) -> RunComparison {
    document.verdict = Equivalence::NotComparable;
    document.reason = match differing(&document) {
        Some(differ) => format!("{why}. They differ in {differ}"),
        None => why,
    };
    document
}

/// Draws the conclusion from the trials.
pub(super) fn conclude(mut document: RunComparison, no_pair: bool) -> RunComparison {
    if no_pair {
        return refused(document, "the runs have no trials with the same levels".to_owned());
    }
    document.verdict = worst(&document);
    let notes = notes(&document);
    document.notes.extend(notes);
    if document.verdict == Equivalence::NotComparable {
        let why = document.trials.iter().find_map(why_not);
        return refused(
            document,
            why.unwrap_or_else(|| "no trial has a number on both sides".to_owned()),
        );
    }
    document.reason = reason(&document);
    document
}

/// The verdict that outweighs the others.
fn worst(document: &RunComparison) -> Equivalence {
    // Without a baseline no trial is better or worse.
    let order = [
        Equivalence::Worse,
        Equivalence::Different,
        Equivalence::Undecided,
        Equivalence::Better,
        Equivalence::Equal,
    ];
    let found = order
        .into_iter()
        .find(|wanted| document.trials.iter().any(|trial| trial.verdict == *wanted));
    let found = found.unwrap_or(Equivalence::NotComparable);
    // A trial that cannot be compared leaves open whether all are equal.
    let missing = document.trials.iter().any(|trial| trial.verdict == Equivalence::NotComparable);
    match found {
        Equivalence::Equal | Equivalence::Better if missing => Equivalence::Undecided,
        other => other,
    }
}

fn why_not(trial: &TrialComparison) -> Option<String> {
    let of_measures = || trial.measures.iter().find_map(|one| one.not_available.clone());
    trial.not_comparable.clone().or_else(of_measures)
}

fn reason(document: &RunComparison) -> String {
    let trials = || document.trials.iter().filter(|trial| trial.verdict == document.verdict);
    let counted = count(document.trials.len(), "trial");
    match document.verdict {
        Equivalence::Equal | Equivalence::Better => {
            let what = match document.verdict {
                Equivalence::Better => {
                    "no deciding measure became worse, and something became better"
                }
                _ if document.baseline => "no deciding measure became worse",
                _ => "all deciding measures are equal",
            };
            let (widest, kept) = (widest(document), kept_at_last(document));
            format!(
                "{what} within {} in {counted}, with {} confidence{kept}{widest}",
                margin(document.within),
                percent(document.confidence)
            )
        }
        Equivalence::Undecided => trials()
            .find_map(|trial| undecided(document, trial))
            .or_else(|| document.trials.iter().find_map(why_not))
            .unwrap_or_else(|| "a promise was decided on one side only".to_owned()),
        _ => trials().find_map(|trial| different(document, trial)).unwrap_or_default(),
    }
}

/// A promise that was broken in A and is kept in B.
fn kept_at_last(document: &RunComparison) -> String {
    let mut all = document.trials.iter().flat_map(|trial| &trial.promises);
    let found = all.find(|one| one.change == Equivalence::Better);
    found.map_or_else(String::new, |promise| format!("; {}", verdicts(promise)))
}

fn verdicts(promise: &PromiseChange) -> String {
    format!(
        "the promise on `{}` is {} in A and {} in B",
        promise.measure,
        promise.a.verdict.word(),
        promise.b.verdict.word()
    )
}

/// The equal measure whose ratio is farthest from 1.
fn widest(document: &RunComparison) -> String {
    let all = document.trials.iter().flat_map(|trial| &trial.measures);
    let deciding = all.filter(|one| one.decides && one.ratio.is_some());
    let farthest = deciding.max_by(|a, b| distance(a).total_cmp(&distance(b)));
    farthest.map_or_else(String::new, |one| format!("; farthest apart: {}", describe(one)))
}

fn distance(one: &MeasureComparison) -> f64 {
    one.ratio.map_or(0.0, |ratio| ratio.ln().abs())
}

fn different(document: &RunComparison, trial: &TrialComparison) -> Option<String> {
    let counts: &[Equivalence] = match (document.baseline, document.verdict) {
        (true, Equivalence::Different) => &[Equivalence::Different],
        (true, _) => &[Equivalence::Worse],
        (false, _) => &[Equivalence::Worse, Equivalence::Better, Equivalence::Different],
    };
    let promise = trial.promises.iter().find(|promise| counts.contains(&promise.change));
    let measures = trial.measures.iter().filter(|one| counts.contains(&one.verdict));
    let farthest = measures.max_by(|a, b| {
        (a.decides, distance(a))
            .partial_cmp(&(b.decides, distance(b)))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let of_promise = promise.map(verdicts);
    let direction = match counts {
        [Equivalence::Different] => ", and which way would be worse is unknown",
        _ => "",
    };
    let of_measure = farthest.map(|one| {
        format!("{}; the margin is {}{direction}", describe(one), margin(document.within))
    });
    let parts: Vec<String> = of_promise.into_iter().chain(of_measure).collect();
    (!parts.is_empty()).then(|| format!("{}{}", under(trial), parts.join("; ")))
}

fn undecided(document: &RunComparison, trial: &TrialComparison) -> Option<String> {
    let open = |one: &&MeasureComparison| {
        one.decides && (one.verdict == Equivalence::Undecided || one.objection.is_some())
    };
    let one = trial.measures.iter().filter(open).max_by(|a, b| distance(a).total_cmp(&distance(b)));
    let of_promise = || {
        let promise = trial.promises.iter().find(|one| leaves_open(one))?;
        Some(format!("{}{}", under(trial), verdicts(promise)))
    };
    let Some(one) = one else {
        let missing = trial.measures.iter().find(|one| one.decides && one.ratio.is_none());
        let describe = missing.and_then(|one| {
            Some(format!(
                "{}{} is not available: {}",
                under(trial),
                name(one),
                one.not_available.as_ref()?
            ))
        });
        return describe.or_else(of_promise);
    };
    if let Some(why) = &one.objection {
        return Some(format!("{}{}, but {why}", under(trial), describe(one)));
    }
    let needs = one.needs_repeats.map_or_else(String::new, |needs| {
        format!("; about {needs} repeats of each would probably decide it")
    });
    let surely = match one.differs {
        Some(true) => ": they differ, but whether by more than",
        _ => ": whether they differ by more than",
    };
    Some(format!(
        "{}{}{surely} {} is open{needs}",
        under(trial),
        describe(one),
        margin(document.within)
    ))
}

/// `io.bytes of task1, as a share`.
fn name(one: &MeasureComparison) -> String {
    let of = match one.of.as_str() {
        "share" => "the share of ",
        "in_place" => "the part of ",
        _ => "",
    };
    let owner = match (&one.group, one.of.as_str()) {
        (Some(group), _) => format!(" of `{group}`"),
        (None, "number") => String::new(),
        (None, _) => " of all groups".to_owned(),
    };
    let place = if one.of == "in_place" { " in place" } else { "" };
    format!("{of}`{}`{owner}{place}", one.measure)
}

/// `io.bytes of all groups is 1.002 times as large in B (0.991 to 1.013)`.
fn describe(one: &MeasureComparison) -> String {
    let ratio = one.ratio.map_or_else(|| "an unknown number of".to_owned(), number);
    let range = match (one.low, one.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", number(low), number(high)),
        _ => {
            let few = few(one.a.repeats.min(one.b.repeats));
            format!(" ({few} nothing about the scatter)")
        }
    };
    format!("{} is {ratio} times that of A in B{range}", name(one))
}

fn under(trial: &TrialComparison) -> String {
    match trial.factors.is_empty() {
        true => String::new(),
        false => format!("under {}: ", levels(&trial.factors)),
    }
}

fn differing(document: &RunComparison) -> Option<String> {
    let names: Vec<String> = document
        .differences
        .iter()
        .map(|one| format!("{} ({} against {})", one.what, one.a, one.b))
        .collect();
    (!names.is_empty()).then(|| names.join("; "))
}

/// Caveats for the reader.
fn notes(document: &RunComparison) -> Vec<String> {
    let mut notes = Vec::new();
    let single = document
        .trials
        .iter()
        .flat_map(|trial| &trial.measures)
        .any(|one| one.ratio.is_some() && one.a.repeats.min(one.b.repeats) < FEWEST);
    if single {
        notes.push(format!("Fewer than {FEWEST} repeats of a side are facts, and decide nothing."));
    }
    if !document.paired {
        notes.push(
            "The runs took place one after the other: changes of the host in between are part of \
             the difference. `assay compare RUN --over FACTOR` compares levels that took turns."
                .to_owned(),
        );
    }
    if document.a.run == document.b.run && !document.paired {
        notes.push("Both sides are the same run.".to_owned());
    }
    notes
}
