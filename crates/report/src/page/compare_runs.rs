//! The page of a comparison.

use assay_verdict::{ComparedRun, RunComparison, TrialComparison};
use serde::Serialize;

use super::{Code, Fact, filled};
use crate::compare_runs;
use crate::error::Error;
use crate::figure::{self, Figure};
use crate::number;
use crate::wording;

/// Data of the page.
#[derive(Serialize)]
struct Page<'a> {
    verdict: &'static str,
    mark: &'static str,
    colour: &'static str,
    meaning: String,
    reason: String,
    design: &'static str,
    within: String,
    sides: [SideView; 2],
    differences: &'a [assay_verdict::RunDifference],
    notes: &'a [String],
    trials: Vec<TrialView>,
    alone: Vec<String>,
    code: Code,
}

#[derive(Serialize)]
struct SideView {
    name: &'static str,
    run: String,
    facts: Vec<Fact>,
}

#[derive(Serialize)]
struct TrialView {
    anchor: String,
    heading: String,
    verdict: &'static str,
    mark: &'static str,
    colour: &'static str,
    not_comparable: Option<String>,
    promises: Vec<PromiseRow>,
    figure: Figure,
    deciding: Vec<MeasureRow>,
    beside: Vec<MeasureRow>,
}

#[derive(Serialize)]
struct PromiseRow {
    promise: String,
    a: String,
    b: String,
    a_error: String,
    b_error: String,
    change: &'static str,
    colour: &'static str,
}

#[derive(Serialize)]
struct MeasureRow {
    measure: String,
    group: String,
    a: String,
    b: String,
    ratio: String,
    range: String,
    differs: &'static str,
    verdict: &'static str,
    mark: &'static str,
    colour: &'static str,
    repeats: String,
    needs: String,
    not_available: Option<String>,
}

/// The page of a comparison of two runs.
pub fn render(comparison: &RunComparison) -> Result<String, Error> {
    let trials = comparison.trials.iter().enumerate();
    let trials: Result<Vec<_>, Error> =
        trials.map(|(index, trial)| view(comparison, index, trial)).collect();
    let alone = |side: &str, levels: &[assay_run_folder::Levels]| -> Vec<String> {
        let one = |levels| format!("Only {side} has a trial with {}.", wording::factors(levels));
        levels.iter().map(one).collect()
    };
    let page = Page {
        verdict: compare_runs::word(comparison.verdict),
        mark: compare_runs::mark(comparison.verdict),
        colour: wording::verdict(compare_runs::colour(comparison.verdict)),
        meaning: compare_runs::meaning(comparison),
        reason: wording::sentence(&comparison.reason),
        design: match (comparison.paired, comparison.baseline) {
            (true, _) => "repeats in pairs that ran next to each other",
            (false, true) => "A is the baseline: only what became worse counts",
            (false, false) => "runs one after the other",
        },
        within: format!(
            "{} % margin, {} % confidence",
            number::plain(comparison.within * 100.0),
            number::plain(comparison.confidence * 100.0)
        ),
        sides: [side("A", &comparison.a), side("B", &comparison.b)],
        differences: &comparison.differences,
        notes: &comparison.notes,
        trials: trials?,
        alone: [alone("A", &comparison.only_in_a), alone("B", &comparison.only_in_b)].concat(),
        code: Code::for_figures(),
    };
    filled("against.html", page)
}

fn side(name: &'static str, run: &ComparedRun) -> SideView {
    SideView {
        name,
        run: run.run.clone(),
        facts: vec![
            Fact::new("Study", run.study.clone()),
            Fact::new("Started", run.started_at.clone()),
            Fact::new("Host", run.host.clone()),
            Fact::new("Kernel", run.kernel.clone()),
            Fact::new("Recorded by", format!("assay {}", run.assay)),
            Fact::new("Verdict on its promises", wording::verdict(run.verdict)),
        ],
    }
}

fn view(
    comparison: &RunComparison,
    index: usize,
    trial: &TrialComparison,
) -> Result<TrialView, Error> {
    let row = |one: &assay_verdict::MeasureComparison| MeasureRow {
        measure: compare_runs::measure(one),
        group: compare_runs::group(one),
        a: compare_runs::value(one, &one.a),
        b: compare_runs::value(one, &one.b),
        ratio: compare_runs::ratio(one),
        range: compare_runs::range(one, " to "),
        differs: compare_runs::difference(one),
        verdict: compare_runs::word(one.verdict),
        mark: compare_runs::mark(one.verdict),
        colour: wording::verdict(compare_runs::colour(one.verdict)),
        repeats: match one.a.repeats == one.b.repeats {
            true => one.a.repeats.to_string(),
            false => format!("{} / {}", one.a.repeats, one.b.repeats),
        },
        needs: one.needs_repeats.map_or_else(String::new, |needs| format!("about {needs}")),
        not_available: one.not_available.clone(),
    };
    let rows = |decides: bool| {
        trial.measures.iter().filter(|one| one.decides == decides).map(row).collect()
    };
    Ok(TrialView {
        anchor: format!("trial-{}", index + 1),
        heading: compare_runs::heading(trial),
        verdict: compare_runs::word(trial.verdict),
        mark: compare_runs::mark(trial.verdict),
        colour: wording::verdict(compare_runs::colour(trial.verdict)),
        not_comparable: trial.not_comparable.clone(),
        promises: trial.promises.iter().map(promise).collect(),
        figure: figure::ratios(index + 1, trial, comparison.within)?,
        deciding: rows(true),
        beside: rows(false),
    })
}

fn promise(change: &assay_verdict::PromiseChange) -> PromiseRow {
    PromiseRow {
        promise: compare_runs::promise(change),
        a: wording::verdict(change.a.verdict).to_owned(),
        b: wording::verdict(change.b.verdict).to_owned(),
        a_error: compare_runs::error(&change.a),
        b_error: compare_runs::error(&change.b),
        change: compare_runs::word(change.change),
        colour: wording::verdict(compare_runs::colour(change.change)),
    }
}
