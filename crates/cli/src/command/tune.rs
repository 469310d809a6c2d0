//! `assay tune`

mod progress;
mod search_schedule;
mod trial_factory;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use assay_escape::shell_word;
use assay_intervention::{Budget, Outcome, SearchRun, Tuning, tuning};
use assay_kernel::signal;
use assay_plan::{Scope, Setting, interleave};
use assay_run_folder::Run;
use assay_study::{Bindings, Study, combinations};
use clap::Args;

use crate::args::{StudyArguments, TrustArguments, duration};
use crate::command::run::{code, facts_for, judge_finished, refuse, request};
use crate::exit::Code;
use crate::finish_run::write_report;
use crate::load::load;
use crate::output;
use crate::stop::LookTaker;
use progress::Progress;
use search_schedule::SearchSchedule;
use trial_factory::{Stage, TrialFactory};

/// Arguments of `assay tune`.
#[derive(Debug, Args)]
pub(crate) struct TuneArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// Total time, e.g. `5m`
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, default_value = "5m")]
    length: Duration,
    /// Do not change this: `scheduler`, `weights`, or an attribute such as `nr_requests`; may be repeated
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
    /// Also try other values of this property of the workload: `iodepth`
    #[arg(long, value_name = "NAME", value_parser = ["iodepth"])]
    also: Vec<String>,
    /// Maximum number of settings to try
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    settings: Option<u32>,
    /// Write the study with the chosen setting to this new file
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Run folder [default: `runs/<time>-<study>-tune`]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Print tune.json instead of text
    #[arg(long)]
    json: bool,
}

/// Assumed overhead of a repeat before one was measured, seconds: making groups, starting and stopping
/// processes, reading their output.
const OVERHEAD_S: f64 = 1.5;

/// Searches for the setting that keeps the promise at the highest throughput, without applying it.
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
    let budget = Budget::new(arguments.length.as_secs_f64(), longest, OVERHEAD_S);
    let scope = Scope { keep: arguments.keep.clone(), also: arguments.also.clone() };
    let factory =
        TrialFactory { study: loaded.study.clone(), factors, facts: facts.clone(), budget };
    let unchanged = factory.trial(&Setting::unchanged(), Stage::Search).map_err(|why| {
        output::error(&format!("the study cannot be run on this host: {why}"));
        output::message("nothing was touched");
        Code::Host
    })?;
    let plan = interleave(vec![(Setting::unchanged().name, unchanged.clone())], 0);
    let name = format!("{}-tune", loaded.study.name);
    let out = (arguments.out.clone(), arguments.trust.trust());
    let request = request(loaded, plan, facts, out, &name, arguments.study.seed)?;
    signal::note_interruptions();
    let first = request.plan.trials[0].clone();
    let most = arguments.settings.map_or(usize::MAX, |most| most as usize);
    let mut schedule = SearchSchedule::begin(factory, first, scope, most, request.folder.clone());
    let mut progress = Progress::new(schedule.label(), arguments.length);
    let finished = assay_runner::run_schedule(
        &request,
        &mut progress,
        &mut LookTaker::new(None),
        &mut schedule,
    )
    .map_err(|failure| refuse(&failure))?;
    progress.finish();
    let judgement = judge_finished(&request, &finished).map_err(|error| refuse(&error))?;
    let run = Run::from_folder(&request.folder).map_err(|error| refuse(&error))?;
    let run = Run { manifest: finished.manifest.clone(), ..run };
    let tuned = SearchRun {
        manifest: &run.manifest,
        samples: &run.samples,
        judgement: &judgement,
        tried: schedule.tried(),
        not_tried: schedule.not_tried(),
        ended_early: finished.interrupted.is_some() || finished.failure.is_some(),
    };
    let Some(tuning) = tuning(&tuned) else {
        if finished.interrupted.is_none() {
            output::error(&"not even the unchanged study could be run");
        }
        return Ok(code(&finished, None));
    };
    request.folder.write_json("tune.json", &tuning).map_err(|error| refuse(&error))?;
    write_report(&request.folder, &run, &judgement).map_err(|error| refuse(&error))?;
    show(&tuning, &request.folder.file("report.html"), arguments.json);
    let exit_code = exit_code(&tuning, code(&finished, Some(Code::Kept)));
    match (&arguments.write, schedule.setting(tuning.chosen.as_deref())) {
        (Some(file), Some(setting)) => {
            write::study(
                file,
                &arguments.study,
                &request.study,
                &text,
                setting,
                schedule.factors(),
            )?;
        }
        (Some(file), None) => {
            output::message(&format!("{} was not written: no setting was found", file.display()));
        }
        (None, _) => {}
    }
    Ok(exit_code)
}

/// The exit code of a search, from that of its run. A workload that fails under one setting does not
/// fail the search.
fn exit_code(tuning: &Tuning, run: Code) -> Code {
    match (run, tuning.outcome) {
        (Code::Kept | Code::Workload, Outcome::Found) => Code::Kept,
        (Code::Kept, Outcome::NoneKeeps) => Code::Broken,
        (Code::Kept, Outcome::Undecided) => Code::Undecided,
        (other, _) => other,
    }
}

/// The factors of the only trial; a search needs exactly one.
fn only_trial(study: &Study) -> Result<Bindings, Code> {
    if study.promises.iter().all(|promise| promise.is.is_cross_trial()) {
        output::error(
            &"the study has no promise about a single trial, so there is nothing to tune for",
        );
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
        "the study has {} trials, but `assay tune` needs exactly one\n  hint: choose one, e.g. `{}`",
        all.len(),
        choose.join(" ")
    ));
    Err(Code::Usage)
}

fn show(tuning: &Tuning, report: &std::path::Path, as_json: bool) {
    if as_json {
        match serde_json::to_string_pretty(tuning) {
            Ok(text) => output::data(&text),
            Err(cause) => output::error(&cause),
        }
        return;
    }
    output::data(&assay_report::tuning_text(tuning, output::width()));
    output::data(&format!("report: {}", report.display()));
}
