//! `assay run`

use std::path::PathBuf;

use assay_facts::HostFacts;
use assay_files::Trust;
use assay_host::{gather, locate_tools, state_dir, unfinished};
use assay_kernel::{Root, signal};
use assay_plan::{Plan, Predictions, plan_with, prediction_commands, required_programs};
use assay_run_folder::{Guest, Manifest, Run, RunFolder};
use assay_runner::{Failure, Finished, Request, Schedule};
use assay_study::Study;
use assay_verdict::Judgement;
use jiff::Timestamp;

use crate::args::RunArguments;
use crate::command::check::check;
use crate::command::export::LiveExport;
use crate::command::predict;
use crate::command::{compare, index};
use crate::exit::Code;
use crate::finish_run::{judge_run, show};
use crate::load::{Loaded, load};
use crate::output;
use crate::progress::Progress;
use crate::stop::LookTaker;

/// Runs a study from its file to its verdict.
pub(crate) fn run(arguments: &RunArguments) -> Code {
    if arguments.dry_run {
        return check(&arguments.study, arguments.json);
    }
    let baseline = arguments.baseline.as_deref();
    match baseline.map_or(Ok(()), compare::check_baseline).and_then(|()| prepare(arguments)) {
        Ok(request) => carry_out(&request, arguments),
        Err(code) => code,
    }
}

/// All steps before the first change of the host.
fn prepare(arguments: &RunArguments) -> Result<Request, Code> {
    prepare_study(arguments, &|_| ())
}

/// Like `prepare`, with a change of the study that has no option.
pub(crate) fn prepare_study(
    arguments: &RunArguments,
    change: &dyn Fn(&mut Study),
) -> Result<Request, Code> {
    let mut loaded = load(&arguments.study, arguments.json)?;
    change(&mut loaded.study);
    let facts = facts_for(&loaded.study).map_err(|error| refuse(&error))?;
    let plan = plan_for(&loaded.study, &facts, arguments.study.seed);
    let plan = match arguments.slice {
        Some(slice) => {
            for torn in plan.split_comparisons(slice) {
                let (measure, over) = (&torn.measure, torn.is.over().join(", "));
                output::message(&format!(
                    "`{measure}` over {over} is not judged: its trials are in several slices"
                ));
            }
            plan.shard(slice)
        }
        None => plan,
    };
    if !plan.refusals.is_empty() {
        for refusal in &plan.refusals {
            output::error(refusal);
        }
        output::message("nothing was touched");
        return Err(Code::Host);
    }
    let name = loaded.study.name.clone();
    let out = (arguments.out.clone(), arguments.trust.trust());
    let request = request(loaded, plan, facts, out, &name, arguments.study.seed)?;
    predict::record_prediction(&request, arguments.predict);
    Ok(request)
}

/// The runner's request for a plan, with a new run folder: `out`, or one with this name in `runs/`. The
/// folder must pass the check that `trust` demands.
pub(crate) fn request(
    loaded: Loaded,
    plan: Plan,
    facts: HostFacts,
    (out, trust): (Option<PathBuf>, Trust),
    name: &str,
    seed: u64,
) -> Result<Request, Code> {
    refuse_if_unfinished()?;
    let now = Timestamp::now();
    let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let path = out.unwrap_or_else(|| PathBuf::from("runs").join(format!("{stamp}-{name}")));
    let folder = RunFolder::create(&path, trust).map_err(|error| refuse(&error))?;
    Ok(Request {
        plan,
        study: loaded.study.name,
        title: loaded.study.title,
        question: loaded.study.question,
        study_text: loaded.text,
        command: std::env::args().collect(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        run_id: format!("{stamp}-{}", std::process::id()),
        seed,
        facts,
        guest: std::env::var(Guest::VARIABLE).ok().and_then(|text| Guest::parse(&text)),
        folder,
        trust,
        state_dir: state_dir(),
    })
}

/// The facts of this host, with the programs that the study starts.
pub(crate) fn facts_for(study: &Study) -> Result<HostFacts, assay_kernel::Error> {
    let mut facts = gather(&Root::real())?;
    let needed = required_programs(study);
    let needed = needed.iter().map(|program| (program.name.as_str(), program.package.as_str()));
    locate_tools(&mut facts, needed);
    Ok(facts)
}

/// The plan of a study. If a limit is a part of a memory footprint, generators are run to predict it.
pub(crate) fn plan_for(study: &Study, facts: &HostFacts, seed: u64) -> Plan {
    let mut predictions = Predictions::default();
    for command in prediction_commands(study, facts) {
        let footprint = assay_runner::footprint(&command);
        predictions.add(command, footprint);
    }
    plan_with(study, facts, &predictions, seed)
}

pub(crate) fn refuse(error: &dyn std::fmt::Display) -> Code {
    output::error(error);
    Code::Host
}

/// Refuses to run while an earlier run is not restored: its leftovers would be mistaken for the host's
/// own state.
fn refuse_if_unfinished() -> Result<(), Code> {
    let runs = unfinished(&state_dir()).map_err(|error| refuse(&error))?;
    let Some(first) = runs.first() else { return Ok(()) };
    if first.live {
        output::error(&format!(
            "run {} is in progress{}\n  hint: wait until it is over",
            first.run_id,
            first.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
        ));
    } else {
        output::error(&format!(
            "run {} ended without restoring the host ({})\n  hint: run `assay restore` first",
            first.run_id,
            first.describe_open_changes()
        ));
    }
    Err(Code::Host)
}

fn carry_out(request: &Request, arguments: &RunArguments) -> Code {
    let live = arguments.live_jsonl.as_deref();
    let live = match live.map(|out| LiveExport::start(&request.folder, out)).transpose() {
        Ok(live) => live,
        Err(code) => return code,
    };
    let finished = execute(request);
    if let Some(live) = live {
        live.finish();
    }
    let finished = match finished {
        Ok(finished) => finished,
        Err(code) => return code,
    };
    let verdict = conclude(request, &finished, arguments.json);
    index::update_for_run(&request.folder);
    let code = code(&finished, verdict);
    match (&arguments.baseline, code) {
        (Some(baseline), Code::Kept | Code::Broken | Code::Undecided) => {
            compare::after_run(baseline, &request.folder, code)
        }
        _ => code,
    }
}

/// Runs a request and writes its verdict and report without showing them; returns the exit code of the
/// run.
pub(crate) fn execute_study(request: &Request) -> Result<Code, Code> {
    let finished = execute(request)?;
    let judgement = judge_finished(request, &finished).map_err(|error| output::error(&error)).ok();
    index::update_for_run(&request.folder);
    Ok(code(&finished, judgement.as_ref().map(Code::from_judgement)))
}

/// Runs a request with progress on stderr and interim looks.
pub(crate) fn execute(request: &Request) -> Result<Finished, Code> {
    with_progress(request, |progress, looks| assay_runner::run(request, progress, looks))
}

/// Like `execute`, with a schedule that chooses the next repeat of the plan.
pub(crate) fn execute_schedule(
    request: &Request,
    schedule: &mut dyn Schedule,
) -> Result<Finished, Code> {
    with_progress(request, |progress, looks| {
        assay_runner::run_schedule(request, progress, looks, schedule)
    })
}

fn with_progress(
    request: &Request,
    run: impl FnOnce(&mut Progress, &mut LookTaker) -> Result<Finished, Failure>,
) -> Result<Finished, Code> {
    signal::note_interruptions();
    let mut progress = Progress::new(&request.study, &request.plan);
    let mut looks = LookTaker::new(progress.shared_look());
    let finished = run(&mut progress, &mut looks);
    progress.finish();
    finished.map_err(|failure| refuse(&failure))
}

/// Judges and shows a run, even one that ended early, and returns the code of its verdict; `None` if
/// nothing can be judged or written.
fn conclude(request: &Request, finished: &Finished, as_json: bool) -> Option<Code> {
    match judge_finished(request, finished) {
        Ok(judgement) => {
            show(&request.folder, &finished.manifest, &judgement, as_json);
            Some(Code::from_judgement(&judgement))
        }
        Err(error) => {
            output::error(&error);
            None
        }
    }
}

/// Prints the errors of a run and judges it.
pub(crate) fn judge_finished(
    request: &Request,
    finished: &Finished,
) -> Result<Judgement, assay_run_folder::Error> {
    for error in &finished.not_restored {
        output::error(&format!("not restored: {error}"));
    }
    if let (None, Some(failure)) = (finished.interrupted, &finished.failure) {
        output::error(failure);
    }
    print_faults(&finished.manifest);
    Run::from_folder(&request.folder).and_then(|run| {
        // The manifest in memory counts, in case the disk was too full to write it.
        let run = Run { manifest: finished.manifest.clone(), ..run };
        judge_run(&request.folder, &run)
    })
}

fn print_faults(manifest: &Manifest) {
    for repeat in manifest.trials.iter().flat_map(|trial| &trial.repeats) {
        if let Some(fault) = &repeat.fault {
            output::error(&fault.message);
        }
    }
}

/// The exit code of a run; `verdict`, the code of its verdict, has the lowest precedence.
pub(crate) fn code(finished: &Finished, verdict: Option<Code>) -> Code {
    if !finished.not_restored.is_empty() {
        return Code::RestoreIncomplete;
    }
    if finished.interrupted.is_some() {
        return Code::Interrupted;
    }
    if finished.failure.is_some() {
        return Code::Host;
    }
    let workload_failed = finished
        .manifest
        .trials
        .iter()
        .flat_map(|trial| &trial.repeats)
        .any(|repeat| repeat.fault.as_ref().is_some_and(|fault| fault.kind == "workload"));
    match verdict {
        _ if workload_failed => Code::Workload,
        verdict => verdict.unwrap_or(Code::Host),
    }
}
