//! `assay tune`

mod progress;
mod search_schedule;
mod trial_factory;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use assay_escape::shell_word;
use assay_intervention::{Budget, Outcome, Tuned, Tuning, tuning};
use assay_kernel::signal;
use assay_plan::{Scope, Setting, take_turns};
use assay_run_folder::Run;
use assay_study::{Bindings, Study, combinations};
use clap::Args;

use crate::args::{StudyArguments, TrustArguments, duration};
use crate::command::run::{code, facts_for, judge_finished, refuse, request};
use crate::exit::Code;
use crate::finish_run::write_report;
use crate::load::load;
use crate::output;
use crate::stop::Stop;
use progress::Progress;
use search_schedule::SearchSchedule;
use trial_factory::{Stage, TrialFactory};

/// What `assay tune` takes.
#[derive(Debug, Args)]
pub(crate) struct TuneArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// Time for everything, as `5m`
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, default_value = "5m")]
    length: Duration,
    /// Leave this as it is: `scheduler`, `weights`, an attribute such as `nr_requests`; may be repeated
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
    /// Also try other values of this, which is part of the question: `iodepth`
    #[arg(long, value_name = "NAME", value_parser = ["iodepth"])]
    also: Vec<String>,
    /// Try at most so many settings
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    settings: Option<u32>,
    /// Write the study with the setting that was found to this new file
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// The run folder; `runs/<time>-<study>-tune` by default
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Print tune.json instead of text
    #[arg(long)]
    json: bool,
}

/// What a repeat takes besides its length, before it was measured: groups are made, processes
/// start and stop, and their output is read.
const AROUND_S: f64 = 1.5;

/// Searches the setting that keeps the promise at the highest throughput. Applies it to nothing.
pub(crate) fn run(arguments: &TuneArguments) -> Code {
    match carry_out(arguments) {
        Ok(code) | Err(code) => code,
    }
}

fn carry_out(arguments: &TuneArguments) -> Result<Code, Code> {
    let loaded = load(&arguments.study, arguments.json)?;
    let factors = only_trial(&loaded.study)?;
    let text = loaded.text.clone();
    let facts = facts_for(&loaded.study).map_err(|error| refuse(&error))?;
    let longest = loaded.study.design.at_most.as_secs_f64();
    let budget = Budget::of(arguments.length.as_secs_f64(), longest, AROUND_S);
    let scope = Scope { keep: arguments.keep.clone(), also: arguments.also.clone() };
    let ground =
        TrialFactory { study: loaded.study.clone(), factors, facts: facts.clone(), budget };
    let unchanged = ground.trial(&Setting::unchanged(), Stage::Search).map_err(|why| {
        output::error(&format!("the study cannot be run on this host: {why}"));
        output::say("nothing was touched");
        Code::Host
    })?;
    let plan = take_turns(vec![(Setting::unchanged().name, unchanged.clone())], 0);
    let name = format!("{}-tune", loaded.study.name);
    let out = (arguments.out.clone(), arguments.trust.trust());
    let request = request(loaded, plan, facts, out, &name, arguments.study.seed)?;
    signal::note_interruptions();
    let first = request.plan.trials[0].clone();
    let most = arguments.settings.map_or(usize::MAX, |most| most as usize);
    let mut tour = SearchSchedule::begin(ground, first, scope, most, request.folder.clone());
    let mut progress = Progress::new(tour.shown(), arguments.length);
    let finished =
        assay_runner::run_course(&request, &mut progress, &mut Stop::showing(None), &mut tour)
            .map_err(|failure| refuse(&failure))?;
    progress.finish();
    let judgement = judge_finished(&request, &finished).map_err(|error| refuse(&error))?;
    let run = Run::of(&request.folder).map_err(|error| refuse(&error))?;
    let run = Run { manifest: finished.manifest.clone(), ..run };
    let tuned = Tuned {
        manifest: &run.manifest,
        samples: &run.samples,
        judgement: &judgement,
        tried: tour.tried(),
        not_tried: tour.not_tried(),
        ended_early: finished.interrupted.is_some() || finished.failure.is_some(),
    };
    let Some(found) = tuning(&tuned) else {
        if finished.interrupted.is_none() {
            output::error(&"not even the study as it is could be run");
        }
        return Ok(code(&finished, None));
    };
    request.folder.write_json("tune.json", &found).map_err(|error| refuse(&error))?;
    write_report(&request.folder, &run, &judgement).map_err(|error| refuse(&error))?;
    show(&found, &request.folder.file("report.html"), arguments.json);
    let ended = end(&found, code(&finished, Some(Code::Kept)));
    match (&arguments.write, tour.setting(found.chosen.as_deref())) {
        (Some(file), Some(setting)) => {
            write::study(file, &arguments.study, &request.study, &text, setting, tour.factors())?;
        }
        (Some(file), None) => {
            output::say(&format!("{} is not written: no setting was found", file.display()));
        }
        (None, _) => {}
    }
    Ok(ended)
}

/// The exit code of a search whose run ended so. A setting under which a workload fails is a
/// setting that was not found.
fn end(found: &Tuning, ended: Code) -> Code {
    match (ended, found.outcome) {
        (Code::Kept | Code::Workload, Outcome::Found) => Code::Kept,
        (Code::Kept, Outcome::NoneKeeps) => Code::Broken,
        (Code::Kept, Outcome::Undecided) => Code::Undecided,
        (other, _) => other,
    }
}

/// A setting is searched for one question.
fn only_trial(study: &Study) -> Result<Bindings, Code> {
    if study.promises.iter().all(|promise| promise.is.is_across()) {
        output::error(&"the study promises nothing of a single trial, so no setting can keep it");
        return Err(Code::Usage);
    }
    let mut all = combinations(study);
    if all.len() == 1 {
        return Ok(all.remove(0));
    }
    let several = study.factors.iter().filter(|factor| factor.values.len() > 1);
    let choose: Vec<String> = several
        .map(|factor| {
            format!("--set {}", shell_word(&format!("{}={}", factor.name, factor.values[0])))
        })
        .collect();
    output::error(&format!(
        "the study has {} trials, and a setting is searched for one\n  hint: choose one, as `{}`",
        all.len(),
        choose.join(" ")
    ));
    Err(Code::Usage)
}

fn show(found: &Tuning, report: &std::path::Path, as_json: bool) {
    if as_json {
        match serde_json::to_string_pretty(found) {
            Ok(text) => output::data(&text),
            Err(cause) => output::error(&cause),
        }
        return;
    }
    output::data(&assay_report::tuning_text(found, output::width()));
    output::data(&format!("report: {}", report.display()));
}
