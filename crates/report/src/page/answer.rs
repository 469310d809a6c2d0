//! The answer of a run: its verdict, what decided it, the likely cause, and what to do next.

use assay_judge::verdict::{Judgement, PromiseJudgement, Verdict};
use assay_record::run_folder::Manifest;
use assay_sys::escape::page::{Parts, Verdict as Answer};

use crate::trial::Trial;
use crate::{across, figure, wording};

/// The verdict of a run as a page shows it.
pub(super) fn answer(manifest: &Manifest, judgement: &Judgement, trials: &[Trial<'_>]) -> Answer {
    let mut answer = verdict(judgement, trials);
    if let ([_, _, ..], meaning) = (trials, &mut answer.meaning) {
        meaning.push_str(&format!(" {}.", super::tally(trials)));
    }
    let decisive = trials.iter().find(|trial| trial.verdict() == Some(judgement.verdict));
    answer.more = Parts::of(|page| page.facts(facts(manifest, judgement, decisive, trials.len())));
    answer.picture = match trials {
        [trial] => figure::picture(trial),
        _ => None,
    };
    answer
}

/// The verdict in a word and a sentence.
pub(super) fn verdict(judgement: &Judgement, trials: &[Trial<'_>]) -> Answer {
    let is_complete = trials.iter().all(|trial| trial.judgement.is_some());
    Answer::new(wording::tag(judgement.verdict), wording::meaning(judgement, is_complete))
}

fn facts(
    manifest: &Manifest,
    judgement: &Judgement,
    decisive: Option<&Trial<'_>>,
    trials: usize,
) -> Vec<(&'static str, String)> {
    let verdict = judgement.verdict;
    // With several trials that are all kept, none of them decides.
    let trial = decisive.filter(|_| trials == 1 || verdict != Verdict::Kept);
    let judged = trial.and_then(|trial| trial.judgement);
    let promise = judged.and_then(wording::decisive);
    let mut facts = Vec::new();
    if let Some(trial) = trial.filter(|_| trials > 1) {
        facts.push(("Trial", wording::factors(&trial.record.factors)));
    }
    if let Some(promise) = promise {
        facts.push(("Promise", wording::promise(promise)));
        facts.push(("Why", wording::sentence(&promise.reason)));
    } else if let Some(one) = judgement.comparisons.iter().find(|one| one.verdict == verdict) {
        facts.push(("Promise", across::sentence(one)));
        facts.push(("Why", wording::sentence(&one.reason)));
        facts
            .extend(wording::needs_repeats(one.needs_repeats, manifest).map(|text| ("Next", text)));
        return facts;
    }
    facts.extend(promise.and_then(cause).map(|text| ("Cause", text)));
    facts.extend(next(manifest, verdict, promise).map(|text| ("Next", text)));
    facts
}

/// The most certain cause.
fn cause(promise: &PromiseJudgement) -> Option<String> {
    let cause = promise.causes.first()?;
    let more = match promise.causes.len() - 1 {
        0 => String::new(),
        more => format!(" {more} more below."),
    };
    Some(format!("{} `{}`{more}", cause.summary, cause.code))
}

/// What to do next, by its command.
fn next(
    manifest: &Manifest,
    verdict: Verdict,
    promise: Option<&PromiseJudgement>,
) -> Option<String> {
    let cause = promise.and_then(|promise| promise.causes.first());
    let remedy = cause.map_or_else(String::new, |cause| {
        format!("`assay explain {}` says what helps. ", cause.code)
    });
    match verdict {
        Verdict::Kept => Some("Compare a later run with it: `assay compare . LATER`".to_owned()),
        Verdict::Undecided => wording::needs(promise?, manifest),
        Verdict::Broken => {
            promise?;
            Some(format!("{remedy}`assay diagnose .` tests changes one at a time."))
        }
        Verdict::Void => {
            let again = wording::command(manifest, &[])
                .map_or_else(String::new, |command| format!(", then run it again: `{command}`"));
            Some(format!("{remedy}Mend what the failed check names{again}"))
        }
    }
}
