//! `assay explain`

mod arms;
mod foreign;
mod question;
mod rounds;
mod target;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_intervention::{Explanation, Finding, predict};
use assay_plan::{Trial, interleave};
use assay_verdict::Verdict;
use clap::Args;

use crate::args::{TrustArguments, duration};
use crate::command::run::{code, execute_schedule, facts_for, judge_finished, refuse, request};
use crate::exit::Code;
use crate::load::Loaded;
use crate::output;
use question::ExplainRequest;
use rounds::{Length, Rounds};
use target::Target;

/// Arguments of `assay explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Run folder
    run: PathBuf,
    /// Maximum length of a repeat [default: 10s, or that of the run if shorter]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    at_most: Option<Duration>,
    /// Number of rounds, in each of which every change and the unchanged trial run once; changes that
    /// helped get two more rounds of their own. One round is enough for a failed check; a broken
    /// promise needs 2 or more [default: 4 to 8, until a cause is found]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Test only this cause or change; may be repeated
    #[arg(long, value_name = "CAUSE")]
    only: Vec<String>,
    /// Folder of the interventions [default: `runs/<time>-<study>-explain`]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Start the study even if the run folder comes from another host or another user
    #[arg(long = "trust")]
    trust_run: bool,
    /// Print explain.json instead of text
    #[arg(long)]
    json: bool,
}

/// Repeats the smallest failed trial with one change at a time, interleaved with the unchanged trial,
/// and reports which change moved the error.
pub(crate) fn run(arguments: &ExplainArguments) -> Code {
    match carry_out(arguments) {
        Ok(code) | Err(code) => code,
    }
}

fn carry_out(arguments: &ExplainArguments) -> Result<Code, Code> {
    let recorded = foreign::open(&arguments.run, arguments.trust_run)?;
    let judgement = assay_judge::judge(&recorded.manifest, &recorded.samples);
    let target = Target::find(&recorded.manifest, &judgement)?;
    if let Some(why) = too_few(arguments.rounds, target.judged.verdict) {
        output::error(&why);
        return Err(Code::Usage);
    }
    let facts = facts_for(&target.study).map_err(|error| refuse(&error))?;
    let arms::Chosen { arms, trials } = arms::choose(&target, &facts, arguments)?;
    let length = Length::new(arguments.rounds);
    output::message(&announcement(&target, &trials, length));
    let plan = interleave(trials, length.with_fresh());
    let name = format!("{}-explain", target.study.name);
    let loaded = Loaded {
        study: target.study.clone(),
        text: recorded.manifest.study_text.clone(),
        named_files: Vec::new(),
    };
    let out = (arguments.out.clone(), arguments.trust.trust());
    let request = request(loaded, plan, facts, out, &name, recorded.manifest.seed)?;
    // Predictions are written down before anything runs.
    let predictions = predict(&target.trial, &target.judged, &arms);
    let written = request.folder.write_json("predictions.json", &predictions);
    written.map_err(|error| refuse(&error))?;
    let question = ExplainRequest { target: &target, arms, predictions, looks: length.looks() };
    let mut rounds = Rounds::new(&request.plan, length, &request.folder, &question);
    let finished = execute_schedule(&request, &mut rounds)?;
    let (refused, fresh) = rounds.into_parts();
    let judgement = judge_finished(&request, &finished).map_err(|error| refuse(&error))?;
    if finished.interrupted.is_some() || finished.failure.is_some() {
        return Ok(code(&finished, None));
    }
    let Some(explanation) = question.explain(&judgement, &refused, &fresh) else {
        return Err(refuse(&"the unchanged trial could not be judged"));
    };
    request.folder.write_json("explain.json", &explanation).map_err(|error| refuse(&error))?;
    show(&explanation, &request.folder.file("explain.json"), arguments.json);
    Ok(match code(&finished, Some(Code::Kept)) {
        Code::Kept if !names_a_cause(&explanation) => Code::Undecided,
        other => other,
    })
}

/// The error if there are too few rounds: a check that fails again proves its cause at once, but a
/// share that is better for one round may be so by chance.
fn too_few(rounds: Option<u32>, verdict: Verdict) -> Option<&'static str> {
    (rounds == Some(1) && verdict == Verdict::Broken).then_some(
        "one round cannot tell the effect of a change from chance, so it confirms no cause of a \
         broken promise\n  hint: give `--rounds 2` or more, or leave `--rounds` out for 4 to 8, until \
         a cause is found",
    )
}

fn names_a_cause(explanation: &Explanation) -> bool {
    let known = |finding| matches!(finding, Finding::Proven | Finding::Confirmed);
    explanation.causes.iter().any(|cause| known(cause.finding))
}

/// A line that announces the trial, the number of changes and rounds, and the length of a repeat.
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

fn show(explanation: &Explanation, file: &Path, as_json: bool) {
    if as_json {
        match serde_json::to_string_pretty(explanation) {
            Ok(text) => output::data(&text),
            Err(cause) => output::error(&cause),
        }
        return;
    }
    output::data(&assay_report::explanation_text(explanation, output::width()));
    output::data(&format!("details: {}", file.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_round_is_refused_for_a_broken_promise() {
        assert!(too_few(Some(1), Verdict::Broken).is_some_and(|why| why.contains("`--rounds 2`")));
        assert_eq!(too_few(Some(1), Verdict::Void), None);
        assert_eq!(too_few(Some(2), Verdict::Broken), None);
        assert_eq!(too_few(None, Verdict::Broken), None);
    }
}
