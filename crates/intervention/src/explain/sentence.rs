//! What interventions come to, in words.

use super::{Arm, ArmResult, Effect, Explained, Finding, Follows, Rounds};
use assay_judge::cause_entry;
use assay_verdict::wording::{margin, percent};
use assay_verdict::{PromiseJudgement, Verdict};

/// One intervention and its effect.
pub(super) fn of_arm(arm: &ArmResult) -> String {
    let error = arm.error.map_or_else(|| "?".to_owned(), |error| percent(error.value));
    let rounds = arm.rounds.map_or_else(String::new, |rounds| format!("; {}", of_rounds(&rounds)));
    let did = match arm.effect {
        Effect::Cured => format!("took the error away (now {error}{rounds})"),
        Effect::Lessened => format!("lessened the error (now {error}{rounds})"),
        Effect::Unmoved => format!("left the error where it was ({error}{rounds})"),
        Effect::Worsened => format!("raised the error (now {error}{rounds})"),
        Effect::Open if arm.confirmed == Some(false) => {
            format!("lessened the error, and did not in fresh rounds ({error}{rounds})")
        }
        Effect::Open if arm.rounds.is_none() => {
            format!("leaves it open ({error}; it takes two rounds to tell a change from chance)")
        }
        Effect::Open => format!("leaves it open ({error}{rounds})"),
        Effect::Void => format!("gives no verdict: {}", arm.reason),
        Effect::NotTried => format!("could not be tried: {}", arm.reason),
    };
    format!("{} {did}", arm.change)
}

/// What the exchange of weights showed.
pub(super) fn of_follows(follows: Option<Follows>) -> &'static str {
    match follows {
        Some(Follows::Weight) => {
            " When the weights were exchanged the error went with them: it lies in how weights are \
             kept, and not in what some group runs."
        }
        Some(Follows::Program) => {
            " When the weights were exchanged the error stayed with its groups: it lies in what \
             they run, or where, and not in the weights."
        }
        Some(Follows::Unclear) | None => "",
    }
}

/// What is left of the error, and how often it was within the margin.
fn of_rounds(rounds: &Rounds) -> String {
    let (left, low, high) = (percent(rounds.left), percent(rounds.low), percent(rounds.high));
    format!(
        "{left} of it is left round by round, {low} to {high}; within the margin in {} of {} rounds",
        rounds.within, rounds.rounds
    )
}

/// The same, with what the law of this cause said before.
pub(super) fn of_tested(code: &str, arm: &ArmResult) -> String {
    let law = arm.laws.iter().find(|law| law.cause == code);
    law.map_or_else(|| of_arm(arm), |law| format!("{}; {}", of_arm(arm), law.line()))
}

/// The sentence that ends an explanation.
pub(super) fn of(
    base: &PromiseJudgement,
    results: &[ArmResult],
    causes: &[Explained],
    arms: &[Arm],
) -> String {
    let was = base.worst_error.map_or_else(
        || "Nothing could be measured".to_owned(),
        |error| {
            let over = if error.value > base.within { "where" } else { "and" };
            format!(
                "Measured again, {} is off by {}{} {over} {} was promised",
                base.measure,
                percent(error.value),
                from_round_to_round(&base.errors),
                margin(base.within)
            )
        },
    );
    let Some(first) = causes.first() else {
        return format!("{was}; there is no suspect and nothing was tried.");
    };
    match first.finding {
        Finding::Proven => proven(first, results, arms),
        Finding::Confirmed => confirmed(&was, first, causes, results, arms),
        _ if base.verdict == Verdict::Kept => {
            "Measured again, the promise is kept: what broke it did not come back. Look for what \
             else was going on then, or give the run more repeats."
                .to_owned()
        }
        Finding::Contradicted | Finding::Open | Finding::Refuted => {
            unexplained(&was, causes, results)
        }
    }
}

/// The least and the largest error of a round, where there are several.
fn from_round_to_round(errors: &[f64]) -> String {
    let least = errors.iter().copied().reduce(f64::min);
    match (least, errors.iter().copied().reduce(f64::max)) {
        (Some(least), Some(most)) if errors.len() > 1 => {
            format!(" ({} to {} from round to round)", percent(least), percent(most))
        }
        _ => String::new(),
    }
}

fn proven(cause: &Explained, results: &[ArmResult], arms: &[Arm]) -> String {
    let entry = cause_entry(&cause.code);
    let what = entry.map_or("", |entry| entry.what);
    let cured = best(&cause.code, results);
    let tried = match cured {
        Some(arm) => {
            let error = arm.error.map_or_else(String::new, |error| {
                format!(", off by {} only", percent(error.value))
            });
            format!(" With {} the promise is kept{error}.", arm.change)
        }
        None => String::new(),
    };
    let remedy = entry.map_or("", |entry| entry.remedy);
    let write = cured
        .and_then(|arm| remedy_of(arm, arms))
        .map_or_else(|| remedy.to_owned(), |remedy| format!("write {remedy}."));
    format!("It is proven ({}): {what}{tried} To mend it: {write}", cause.code)
}

fn confirmed(
    was: &str,
    cause: &Explained,
    causes: &[Explained],
    results: &[ArmResult],
    arms: &[Arm],
) -> String {
    let entry = cause_entry(&cause.code);
    let what = entry.map_or("", |entry| entry.what);
    let Some(arm) = best(&cause.code, results) else { return was.to_owned() };
    let error = arm.error.map_or_else(String::new, |error| percent(error.value));
    let did = match arm.effect {
        Effect::Cured => format!("the error is {error}, within what was promised"),
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
    let law = arm.laws.iter().find(|law| law.cause == cause.code && law.right == Some(true));
    let law = law.map_or_else(String::new, |law| {
        format!(", as was predicted ({} to {})", percent(law.low), percent(law.high))
    });
    let also = match also.is_empty() {
        true => String::new(),
        false => format!(" What was tried does not tell it apart from {}.", also.join(", ")),
    };
    let proven = causes.iter().filter(|other| other.finding == Finding::Proven);
    let proven: Vec<&str> = proven.map(|other| other.code.as_str()).collect();
    let with = match proven.is_empty() {
        true => String::new(),
        false => format!(" ({} of the unchanged trial went with it.)", proven.join(", ")),
    };
    let remedy = remedy_of(arm, arms)
        .or_else(|| entry.map(|entry| entry.remedy.to_owned()))
        .unwrap_or_default();
    let stop = if remedy.ends_with('.') { "" } else { "." };
    format!(
        "{was}. It is confirmed ({}): {what} With {} {did}{law}{cost}.{with}{also} To mend it: {remedy}{stop}",
        cause.code, arm.change
    )
}

fn unexplained(was: &str, causes: &[Explained], results: &[ArmResult]) -> String {
    let of = |finding: Finding| -> Vec<&str> {
        let found = causes.iter().filter(|cause| cause.finding == finding);
        found.map(|cause| cause.code.as_str()).collect()
    };
    let list = |codes: Vec<&str>| match codes.is_empty() {
        true => "nothing".to_owned(),
        false => codes.join(", "),
    };
    let tried = results.iter().filter(|arm| arm.effect != Effect::NotTried).count();
    format!(
        "{was}. None of {tried} changes took the error away: {} ruled out, {} still possible. A \
         longer explanation (`--at-most`, `--rounds`) narrows the intervals.",
        list(of(Finding::Refuted)),
        list([of(Finding::Contradicted), of(Finding::Open)].concat())
    )
}

/// The intervention that helped most of those that test a cause.
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
