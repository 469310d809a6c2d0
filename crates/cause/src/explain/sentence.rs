//! Sentences that summarise interventions.

use assay_judge::verdict::wording::{margin, percent};
use assay_judge::verdict::{PromiseJudgement, ProofState};

use super::{Arm, ArmResult, CauseFinding, Effect, Finding, Follows, GroupsWithin, Rounds};
use crate::cause_docs::cause_entry;

/// The largest error of so many groups says little of the others.
const MANY: usize = 16;

/// Sentence about one intervention and its effect.
pub(super) fn arm_sentence(arm: &ArmResult) -> String {
    let error = arm.error.map_or_else(|| "?".to_owned(), |error| percent(error.value));
    let error = if arm.repeats == 1 { format!("{error} in a single round") } else { error };
    let rounds =
        arm.rounds.map_or_else(String::new, |rounds| format!("; {}", rounds_sentence(&rounds)));
    let did = match arm.effect {
        Effect::Cured => format!("removed the error (now {error}{rounds})"),
        Effect::Lessened => format!("reduced the error (now {error}{rounds})"),
        Effect::Unmoved => format!("left the error where it was ({error}{rounds})"),
        Effect::Worsened => format!("raised the error (now {error}{rounds})"),
        Effect::Open if arm.confirmed == Some(false) => {
            format!("reduced the error, but not in fresh rounds ({error}{rounds})")
        }
        Effect::Open if arm.rounds.is_none() && arm.repeats > 1 => {
            format!("is inconclusive ({error}; too few rounds have an error on both sides)")
        }
        Effect::Open if arm.rounds.is_none() => {
            format!("is inconclusive ({error}; one round cannot be told from chance)")
        }
        Effect::Open => format!("is inconclusive ({error}{rounds})"),
        Effect::Void => format!("gives no verdict: {}", arm.reason),
        Effect::NotTried => format!("could not be tried: {}", arm.reason),
    };
    let groups = arm.groups_within.filter(|groups| groups.of >= MANY && arm.effect != Effect::Void);
    let groups = groups.map_or_else(
        String::new,
        |GroupsWithin { unchanged, changed, of }| {
            format!(", {changed} of {of} groups within the margin on average over rounds, {unchanged} without it")
        },
    );
    format!("{} {did}{groups}", arm.change)
}

/// Result of the exchange of weights.
pub(super) fn follows_sentence(follows: Option<Follows>) -> &'static str {
    match follows {
        Some(Follows::Weight) => {
            " When the weights were exchanged the error moved with them: the weights are not obeyed, \
            whatever the groups run."
        }
        Some(Follows::Program) => {
            " When the weights were exchanged the error stayed with its groups: the cause is what they \
            run, or where, and not the weights."
        }
        Some(Follows::Unclear) | None => "",
    }
}

/// Remaining error, and how often it was within the margin.
fn rounds_sentence(rounds: &Rounds) -> String {
    let (left, low, high) = (percent(rounds.left), percent(rounds.low), percent(rounds.high));
    format!(
        "{left} of it remains round by round, {low} to {high}; within the margin in {} of {} rounds",
        rounds.within, rounds.rounds
    )
}

/// The same, with the prediction of this cause.
pub(super) fn tested_arm_sentence(code: &str, arm: &ArmResult) -> String {
    let prediction = arm.predictions.iter().find(|prediction| prediction.cause == code);
    prediction.map_or_else(
        || arm_sentence(arm),
        |prediction| format!("{}; {}", arm_sentence(arm), prediction.line()),
    )
}

/// The summary sentence of an explanation. The unchanged trial has so many rounds that count.
pub(super) fn summary(
    (base, repeats): (&PromiseJudgement, usize),
    results: &[ArmResult],
    causes: &[CauseFinding],
    arms: &[Arm],
) -> String {
    let was = base.worst_error.map_or_else(
        || "Nothing could be measured".to_owned(),
        |error| {
            let over = if error.value > base.within { "where" } else { "and" };
            let single = if repeats == 1 { " in a single round" } else { "" };
            format!(
                "Measured again{single}, {} is off by {}{} {over} {} was promised",
                base.measure,
                percent(error.value),
                from_round_to_round(&base.errors),
                margin(base.within)
            )
        },
    );
    let Some(first) = causes.first() else {
        return format!("{was}; there is no suspected cause and nothing was tried.");
    };
    let said = match first.finding {
        Finding::Proven => proven(first, repeats, results, arms),
        Finding::Confirmed => confirmed((&was, base.within), first, causes, results, arms),
        _ if repeats > 1 && base.errors.iter().all(|error| *error <= base.within) => format!(
            "{was}: the error did not recur. Look for what else was running at the time, or give \
             the run more repeats."
        ),
        Finding::Contradicted | Finding::Open | Finding::Refuted | Finding::Excluded => {
            unexplained(&was, base, causes, results)
        }
    };
    match contradictory(base, causes) {
        codes if codes.is_empty() => said,
        codes => format!(
            "{said} Contradictory ({}): a change that tests it removed the error, and the kernel's events exclude \
             it. Neither is a conclusion: please report it with the run folder.",
            codes.join(", ")
        ),
    }
}

/// Causes that events exclude although a change that tests them helped: one of the two is wrong.
fn contradictory<'c>(base: &PromiseJudgement, causes: &'c [CauseFinding]) -> Vec<&'c str> {
    let is_excluded = |code: &&str| {
        base.proofs.iter().any(|proof| proof.code == *code && proof.state == ProofState::Excluded)
    };
    of(Finding::Contradicted, causes).into_iter().filter(is_excluded).collect()
}

/// The codes of causes with this finding.
fn of(finding: Finding, causes: &[CauseFinding]) -> Vec<&str> {
    let found = causes.iter().filter(|cause| cause.finding == finding);
    found.map(|cause| cause.code.as_str()).collect()
}

/// Smallest and largest error of a round, where there are several.
fn from_round_to_round(errors: &[f64]) -> String {
    let least = errors.iter().copied().reduce(f64::min);
    match (least, errors.iter().copied().reduce(f64::max)) {
        (Some(least), Some(most)) if errors.len() > 1 => {
            format!(" ({} to {} from round to round)", percent(least), percent(most))
        }
        _ => String::new(),
    }
}

fn proven(cause: &CauseFinding, repeats: usize, results: &[ArmResult], arms: &[Arm]) -> String {
    let entry = cause_entry(&cause.code);
    let what = entry.map_or("", |entry| entry.what);
    let cured = best(&cause.code, results);
    let tried = match cured {
        Some(arm) => {
            let error = arm.error.map_or_else(String::new, |error| {
                format!(", off by only {}", percent(error.value))
            });
            format!(" With {} the promise is kept{error}.", arm.change)
        }
        None => String::new(),
    };
    let remedy = entry.map_or("", |entry| entry.remedy);
    let write = cured
        .and_then(|arm| remedy_of(arm, arms))
        .map_or_else(|| remedy.to_owned(), |remedy| format!("write {remedy}."));
    let single = if repeats == 1 { " All figures are of a single round." } else { "" };
    format!("Proven ({}): {what}{tried} Remedy: {write}{single}", cause.code)
}

fn confirmed(
    (was, within): (&str, f64),
    cause: &CauseFinding,
    causes: &[CauseFinding],
    results: &[ArmResult],
    arms: &[Arm],
) -> String {
    let entry = cause_entry(&cause.code);
    let what = entry.map_or("", |entry| entry.what);
    let Some(arm) = best(&cause.code, results) else { return was.to_owned() };
    let is_within = arm.error.is_some_and(|error| error.value <= within);
    let error = arm.error.map_or_else(String::new, |error| percent(error.value));
    let did = match (arm.effect, arm.rounds) {
        (Effect::Cured, Some(Rounds { within, rounds, .. })) if !is_within => format!(
            "the error is {error} over all rounds, and within what was promised in {within} of {rounds}"
        ),
        (Effect::Cured, _) => format!("the error is {error}, within what was promised"),
        _ => format!("the error falls to {error}"),
    };
    let cost = arm
        .throughput
        .filter(|part| (part - 1.0).abs() > 0.05)
        .map_or_else(String::new, |part| format!(", at {} of the throughput", percent(part)));
    let also: Vec<&str> = causes[1..]
        .iter()
        .filter(|other| other.finding == Finding::Confirmed)
        .map(|other| other.code.as_str())
        .collect();
    let prediction = arm
        .predictions
        .iter()
        .find(|prediction| prediction.cause == cause.code && prediction.right == Some(true));
    let prediction = prediction.map_or_else(String::new, |prediction| {
        format!(", as was predicted ({} to {})", percent(prediction.low), percent(prediction.high))
    });
    let also = match also.is_empty() {
        true => String::new(),
        false => format!(" The interventions do not distinguish it from {}.", also.join(", ")),
    };
    let proven = causes.iter().filter(|other| other.finding == Finding::Proven);
    let proven: Vec<&str> = proven.map(|other| other.code.as_str()).collect();
    let with = match proven.is_empty() {
        true => String::new(),
        false => format!(" ({} of the unchanged trial disappeared with it.)", proven.join(", ")),
    };
    let remedy = remedy_of(arm, arms)
        .or_else(|| entry.map(|entry| entry.remedy.to_owned()))
        .unwrap_or_default();
    let stop = if remedy.ends_with('.') { "" } else { "." };
    format!(
        "{was}. Confirmed ({}): {what} With {} {did}{prediction}{cost}.{with}{also} Remedy: {remedy}{stop}",
        cause.code, arm.change
    )
}

fn unexplained(
    was: &str,
    base: &PromiseJudgement,
    causes: &[CauseFinding],
    results: &[ArmResult],
) -> String {
    let list = |codes: Vec<&str>| match codes.is_empty() {
        true => "nothing".to_owned(),
        false => codes.join(", "),
    };
    let tried = results.iter().filter(|arm| arm.effect != Effect::NotTried).count();
    let contradictory = contradictory(base, causes);
    let mut possible = of(Finding::Contradicted, causes);
    possible.retain(|code| !contradictory.contains(code));
    // Of a change that is inconclusive it is not known.
    let helped = match results.iter().filter(|arm| arm.is_of_use()).count() {
        0 => format!("None of {tried} changes is"),
        1 => format!("1 of {tried} changes is"),
        some => format!("{some} of {tried} changes are"),
    };
    format!(
        "{was}. {helped} shown to have removed or reduced the error, and no cause is confirmed: {} ruled out, {} \
         still possible. A longer explanation (`--duration`, `--rounds`) narrows the intervals.",
        list([of(Finding::Refuted, causes), of(Finding::Excluded, causes)].concat()),
        list([possible, of(Finding::Open, causes)].concat())
    )
}

/// The most effective of the interventions that test a cause.
fn best<'a>(code: &str, results: &'a [ArmResult]) -> Option<&'a ArmResult> {
    let helped = results
        .iter()
        .filter(|arm| arm.tests.iter().any(|test| test == code) && arm.is_confirmed());
    let error = |arm: &ArmResult| arm.error.map_or(f64::INFINITY, |error| error.value);
    helped.min_by(|a, b| error(a).total_cmp(&error(b)))
}

fn remedy_of(arm: &ArmResult, arms: &[Arm]) -> Option<String> {
    arms.iter().find(|known| known.name == arm.name)?.remedy.clone()
}
