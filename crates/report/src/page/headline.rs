//! The top of the page: the verdict, and one sentence for every trial.

use assay_run_folder::Manifest;
use assay_verdict::{Judgement, TrialJudgement};
use serde::Serialize;

use crate::across::{self, Across};
use crate::trial::Trial;
use crate::wording;

/// The verdict of the run.
#[derive(Serialize)]
pub(super) struct Headline {
    verdict: &'static str,
    mark: &'static str,
    meaning: &'static str,
    /// `6 trials: 2 kept, 4 broken`, if there is more than one.
    tally: Option<String>,
    /// Why the run ended before its last trial.
    ended_early: Option<String>,
    /// A caveat for verdicts from a guest of the lab.
    guest: Option<String>,
    lines: Vec<Line>,
}

/// One trial in one sentence.
#[derive(Serialize)]
struct Line {
    anchor: String,
    factors: String,
    verdict: &'static str,
    mark: &'static str,
    reason: String,
}

impl Headline {
    pub(super) fn new(manifest: &Manifest, judgement: &Judgement, trials: &[Trial<'_>]) -> Self {
        Self {
            verdict: wording::verdict(judgement.verdict),
            mark: wording::mark(judgement.verdict),
            meaning: wording::meaning(
                judgement,
                trials.iter().all(|trial| trial.judgement.is_some()),
            ),
            tally: (trials.len() > 1).then(|| tally(trials)),
            guest: manifest
                .guest
                .as_ref()
                .map(|guest| wording::sentence(&format!("{} ({})", guest.caveat(), guest.line()))),
            ended_early: manifest.ended_early.as_deref().map(wording::sentence),
            lines: across::promises(&judgement.comparisons)
                .iter()
                .flat_map(comparison_lines)
                .chain(trials.iter().map(line))
                .collect(),
        }
    }
}

fn line(trial: &Trial<'_>) -> Line {
    let (verdict, mark) = trial.word();
    let not_judged = || wording::sentence(&trial.why_not_judged());
    let reason = trial.judgement.map_or_else(not_judged, why);
    let factors = wording::factors(&trial.record.factors);
    let reason = wording::unbroken(&reason);
    Line { anchor: format!("trial-{}", trial.number), factors, verdict, mark, reason }
}

/// One line for each combination of the held factors of a promise across trials.
fn comparison_lines(promise: &Across<'_>) -> Vec<Line> {
    let line = |one: &assay_verdict::ComparisonJudgement| {
        let held = across::held(one);
        let heading = across::heading(one);
        Line {
            anchor: super::across::anchor(promise.number),
            factors: if held.is_empty() { heading } else { format!("{heading} ({held})") },
            verdict: wording::verdict(one.verdict),
            mark: wording::mark(one.verdict),
            reason: wording::unbroken(&wording::sentence(&one.reason)),
        }
    };
    promise.judged.iter().map(line).collect()
}

fn tally(trials: &[Trial<'_>]) -> String {
    let words = ["kept", "broken", "undecided", "void", "no promise", "not judged"];
    let counted = words.into_iter().filter_map(|word| {
        let count = trials.iter().filter(|trial| trial.word().0 == word).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    format!("{} trials: {}", trials.len(), counted.collect::<Vec<_>>().join(", "))
}

/// The reason, with the state of a memory limit if no promise of the trial covers it.
fn why(judged: &TrialJudgement) -> String {
    let reason = wording::trial_reason(judged);
    match wording::limit_on_memory(judged).filter(|_| judged.promises.is_empty()) {
        Some(limit) => format!("{reason} Memory limit: {limit}."),
        None => reason,
    }
}
