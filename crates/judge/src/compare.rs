//! Comparison of two runs: what changed, by how much, and with which certainty.
//!
//! Every measure gets two independent tests: whether it is *equal within a margin* (the whole
//! interval of the ratio lies within it, two one-sided tests, Schuirmann 1987), and whether it is
//! *different by more than the margin* (its interval lies outside, at an error that holds for all measures
//! that decide at once; Holm 1979). What is neither is undecided, never equal. See docs/comparing.md.

mod differences;
mod direction;
mod equivalence;
mod length;
mod levels;
mod matching;
mod pairs;
mod promises;
mod ratio;
mod sentence;

use assay_record::run_folder::Manifest;

use crate::trial_numbers::TrialNumber;
use crate::verdict::wording::levels;
use crate::verdict::{
    ComparedRun, Equivalence, Judgement, MeasureComparison, PromiseChange, RunComparison,
    TrialComparison,
};
use crate::{NoCauses, Samples, judge};
use matching::Match;
use promises::Judged;

pub use levels::compare_levels;

/// One run of a comparison.
#[derive(Clone, Copy)]
pub struct Side<'r> {
    /// What the run is called, for people.
    pub name: &'r str,
    /// Its manifest.
    pub manifest: &'r Manifest,
    /// Its samples.
    pub samples: &'r Samples,
}

/// Parameters of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The margin: the larger is at most `1 + within` times the smaller.
    pub within: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Measures that decide in addition to those with a promise.
    pub measures: Vec<String>,
    /// Whether A is a baseline, so that only what became worse counts.
    pub baseline: bool,
    /// Whether runs of different studies or lengths are compared anyway.
    pub anyway: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            within: 0.05,
            confidence: 0.95,
            measures: Vec::new(),
            baseline: false,
            anyway: false,
        }
    }
}

/// Compares two runs, trial by trial and measure by measure. B is divided by A.
#[must_use]
pub fn compare_runs(a: &Side<'_>, b: &Side<'_>, terms: &Terms) -> RunComparison {
    compare(a, b, terms, false)
}

/// Compares two sides; `paired` if repeat `i` of both ran in one round of one run.
fn compare(a: &Side<'_>, b: &Side<'_>, terms: &Terms, paired: bool) -> RunComparison {
    let judged = [a, b].map(|side| judge(side.manifest, side.samples, &NoCauses));
    let mut document = RunComparison {
        schema: 1,
        a: run(a, &judged[0]),
        b: run(b, &judged[1]),
        within: terms.within,
        confidence: terms.confidence,
        baseline: terms.baseline,
        paired,
        differences: differences::of_runs(a.manifest, b.manifest),
        ..RunComparison::default()
    };
    if let Some(why) = refusal(a, b, terms) {
        return sentence::refused(document, why);
    }
    let matched = matching::trials(a.manifest, b.manifest);
    document.only_in_a = matching::unmatched(a.manifest, &matched.a_alone);
    document.only_in_b = matching::unmatched(b.manifest, &matched.b_alone);
    for pair in &matched.pairs {
        let trials = (&a.manifest.trials[pair.a], &b.manifest.trials[pair.b]);
        differences::of_trials(trials.0, trials.1, &mut document.differences);
    }
    document.notes = matched.pairs.iter().flat_map(|pair| left_out(a, b, &judged, pair)).collect();
    let found: Vec<PairData> =
        matched.pairs.iter().map(|pair| find(a, b, &judged, pair, terms)).collect();
    let deciding = found.iter().flat_map(PairData::deciding);
    let rule = equivalence::Rule::new(terms, paired, deciding);
    document.trials = found.into_iter().map(|found| found.judge(&rule, terms)).collect();
    sentence::conclude(document, matched.pairs.is_empty())
}

/// The levels that both trials have, if there are factors.
fn under(pair: &Match) -> String {
    match pair.same.is_empty() {
        true => String::new(),
        false => format!(" under {}", levels(&pair.same)),
    }
}

/// Repeats of a pair of trials that do not count, and why.
fn left_out(a: &Side<'_>, b: &Side<'_>, judged: &[Judgement; 2], pair: &Match) -> Vec<String> {
    let note = |name: &str, side: &Side<'_>, judged: &Judgement, index: usize| {
        let found = judged.trials.get(index)?;
        let lost = found.repeats < side.manifest.trials[index].repeats.len();
        let check = found.validity.iter().find(|check| lost && check.check == "repeats")?;
        Some(format!("Of {name}{}, {}.", under(pair), check.evidence))
    };
    let sides = [note("A", a, &judged[0], pair.a), note("B", b, &judged[1], pair.b)];
    sides.into_iter().flatten().collect()
}

/// Why two runs cannot be compared at all.
fn refusal(a: &Side<'_>, b: &Side<'_>, terms: &Terms) -> Option<String> {
    for side in [a, b] {
        if side.manifest.recording.is_some() {
            return Some(format!(
                "{} is a recording without a study: it has no trials and no repeats to compare",
                side.name
            ));
        }
        if side.manifest.trials.iter().all(|trial| trial.repeats.is_empty()) {
            return Some(format!("{} has no repeats", side.name));
        }
    }
    let same_study = a.manifest.study == b.manifest.study
        || a.manifest.study_text.trim() == b.manifest.study_text.trim();
    (!same_study && !terms.anyway).then(|| {
        format!(
            "they are runs of different studies, `{}` and `{}`; `--force` compares them \
             anyway, where trials have the same levels",
            a.manifest.study, b.manifest.study
        )
    })
}

/// The data of a pair of trials.
struct PairData {
    pair: Match,
    refused: Option<String>,
    quantities: Vec<(TrialNumber, TrialNumber)>,
    promises: Vec<PromiseChange>,
}

fn find(
    a: &Side<'_>,
    b: &Side<'_>,
    judged: &[Judgement; 2],
    pair: &Match,
    terms: &Terms,
) -> PairData {
    let (of_a, of_b) = (&a.manifest.trials[pair.a], &b.manifest.trials[pair.b]);
    let refused = matching::refusal(of_a, of_b).filter(|_| !terms.anyway);
    let quantities = match refused {
        Some(_) => Vec::new(),
        None => {
            let mut numbers = pairs::pairs(
                pairs::numbers(a, pair.a, &terms.measures),
                pairs::numbers(b, pair.b, &terms.measures),
            );
            length::leave_out_totals(&mut numbers, (of_a, of_b), terms.within);
            numbers
        }
    };
    let promises = match (judged[0].trials.get(pair.a), judged[1].trials.get(pair.b)) {
        (Some(a), Some(b)) if refused.is_none() => {
            promises::changes(Judged { trial: of_a, judged: a }, Judged { trial: of_b, judged: b })
        }
        _ => Vec::new(),
    };
    PairData { pair: pair.clone(), refused, quantities, promises }
}

impl PairData {
    /// The measures that decide and have numbers, each of which can be wrong.
    fn deciding(&self) -> impl Iterator<Item = &(TrialNumber, TrialNumber)> {
        self.quantities.iter().filter(|(a, b)| a.decides && a.found.is_ok() && b.found.is_ok())
    }

    fn judge(self, rule: &equivalence::Rule, terms: &Terms) -> TrialComparison {
        let one = |(a, b): &(TrialNumber, TrialNumber)| match pairs::are_zero(a, b) {
            true => promises::left_to_promise(rule.judge(a, b), &self.promises),
            false => rule.judge(a, b),
        };
        let measures: Vec<MeasureComparison> = self.quantities.iter().map(one).collect();
        let verdict = match &self.refused {
            Some(_) => Equivalence::NotComparable,
            None => equivalence::of_trial(&measures, &self.promises, terms.baseline),
        };
        TrialComparison {
            factors: self.pair.same,
            a_factors: self.pair.a_only,
            b_factors: self.pair.b_only,
            verdict,
            not_comparable: self.refused,
            promises: self.promises,
            measures,
        }
    }
}

fn run(side: &Side<'_>, judged: &Judgement) -> ComparedRun {
    let manifest = side.manifest;
    ComparedRun {
        run: side.name.to_owned(),
        study: manifest.study.clone(),
        started_at: manifest.started_at.clone(),
        host: manifest.host.host_name.clone(),
        kernel: manifest.host.kernel.clone(),
        assay: manifest.assay.clone(),
        verdict: judged.verdict,
    }
}
