//! `assay explain`

mod arms;
mod foreign;
mod question;
mod rounds;
mod target;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_intervention::{Explanation, Finding, predict};
use assay_plan::{Trial, take_turns};
use assay_verdict::Verdict;
use clap::Args;

use crate::args::{TrustArguments, duration};
use crate::command::run::{code, execute_course, facts_for, judge_finished, refuse, request};
use crate::exit::Code;
use crate::load::Loaded;
use crate::output;
use question::ExplainRequest;
use rounds::{Length, Rounds};
use target::Target;

/// What `assay explain` takes.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The folder of a run
    run: PathBuf,
    /// How long each repeat runs at most; 10 s by default, or what the run had if that is less
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    at_most: Option<Duration>,
    /// Rounds: how often each change is tried, in turns with the unchanged trial; by default 4 to
    /// 8, as many as it takes to know a cause. What helped is then tried twice more by itself. One
    /// is enough where a check failed, and for a broken promise it takes 2 or more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Test only this cause, or try only this change; may be repeated
    #[arg(long, value_name = "CAUSE")]
    only: Vec<String>,
    /// The folder of the interventions; `runs/<time>-<study>-explain` by default
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Start what the folder says although it comes from another host or from somebody else
    #[arg(long = "trust")]
    trust_run: bool,
    /// Print explain.json instead of text
    #[arg(long)]
    json: bool,
}

/// Repeats the smallest trial that failed with one thing changed at a time, in turns with the
/// unchanged one, and says which change moved the error.
pub(crate) fn run(arguments: &ExplainArguments) -> Code {
    match carry_out(arguments) {
        Ok(code) | Err(code) => code,
    }
}

fn carry_out(arguments: &ExplainArguments) -> Result<Code, Code> {
    let recorded = foreign::open(&arguments.run, arguments.trust_run)?;
    let judgement = assay_judge::judge(&recorded.manifest, &recorded.samples);
    let target = Target::of(&recorded.manifest, &judgement)?;
    if let Some(why) = too_few(arguments.rounds, target.judged.verdict) {
        output::error(&why);
        return Err(Code::Usage);
    }
    let facts = facts_for(&target.study).map_err(|error| refuse(&error))?;
    let arms::Chosen { arms, trials } = arms::choose(&target, &facts, arguments)?;
    let length = Length::of(arguments.rounds);
    output::say(&announcement(&target, &trials, length));
    let plan = take_turns(trials, length.with_fresh());
    let name = format!("{}-explain", target.study.name);
    let loaded = Loaded {
        study: target.study.clone(),
        text: recorded.manifest.study_text.clone(),
        beside: Vec::new(),
    };
    let out = (arguments.out.clone(), arguments.trust.trust());
    let request = request(loaded, plan, facts, out, &name, recorded.manifest.seed)?;
    // What the laws say is written down before anything runs.
    let predictions = predict(&target.trial, &target.judged, &arms);
    let written = request.folder.write_json("predictions.json", &predictions);
    written.map_err(|error| refuse(&error))?;
    let asked = ExplainRequest { target: &target, arms, predictions, looks: length.looks() };
    let mut rounds = Rounds::new(&request.plan, length, &request.folder, &asked);
    let finished = execute_course(&request, &mut rounds)?;
    let (refused, fresh) = rounds.into_parts();
    let again = judge_finished(&request, &finished).map_err(|error| refuse(&error))?;
    if finished.interrupted.is_some() || finished.failure.is_some() {
        return Ok(code(&finished, None));
    }
    let Some(found) = asked.answer(&again, &refused, &fresh) else {
        return Err(refuse(&"the unchanged trial could not be judged"));
    };
    request.folder.write_json("explain.json", &found).map_err(|error| refuse(&error))?;
    show(&found, &request.folder.file("explain.json"), arguments.json);
    Ok(match code(&finished, Some(Code::Kept)) {
        Code::Kept if !names_a_cause(&found) => Code::Undecided,
        other => other,
    })
}

/// Why so many rounds are too few: a check that fails again proves its cause at once, and a share
/// that is better for one round may be so by chance.
fn too_few(rounds: Option<u32>, verdict: Verdict) -> Option<&'static str> {
    (rounds == Some(1) && verdict == Verdict::Broken).then_some(
        "one round cannot tell what a change does from chance, so that it confirms no cause of a \
         broken promise\n  hint: `--rounds 2` or more, or no `--rounds` for 4 to 8, as many as it \
         takes",
    )
}

fn names_a_cause(found: &Explanation) -> bool {
    let known = |finding| matches!(finding, Finding::Proven | Finding::Confirmed);
    found.causes.iter().any(|cause| known(cause.finding))
}

/// What is going to be done, and how long each part of it takes.
fn announcement(target: &Target, trials: &[(String, Trial)], length: Length) -> String {
    let Length { least, most } = length;
    let rounds = match least == most {
        true => format!("{most} rounds"),
        false => format!("{least} to {most} rounds"),
    };
    let changes = match trials.len().saturating_sub(1) {
        1 => "1 change".to_owned(),
        count => format!("{count} changes"),
    };
    format!(
        "trial {} with {changes} in {rounds}, at most {} s each",
        target.number + 1,
        trials.first().map_or(0, |(_, trial)| trial.at_most.as_secs())
    )
}

fn show(found: &Explanation, file: &Path, as_json: bool) {
    if as_json {
        match serde_json::to_string_pretty(found) {
            Ok(text) => output::data(&text),
            Err(cause) => output::error(&cause),
        }
        return;
    }
    output::data(&assay_report::explanation_text(found, output::width()));
    output::data(&format!("details: {}", file.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_round_is_refused_where_it_could_confirm_nothing() {
        assert!(too_few(Some(1), Verdict::Broken).is_some_and(|why| why.contains("`--rounds 2`")));
        assert_eq!(too_few(Some(1), Verdict::Void), None);
        assert_eq!(too_few(Some(2), Verdict::Broken), None);
        assert_eq!(too_few(None, Verdict::Broken), None);
    }
}
