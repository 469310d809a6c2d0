//! `assay run`

use std::path::PathBuf;

use assay_facts::HostFacts;
use assay_files::Trust;
use assay_host::{gather, look_for, state_dir, unfinished};
use assay_kernel::{Root, signal};
use assay_plan::{Plan, Predictions, plan_with, programs, to_predict};
use assay_run_folder::{Guest, Manifest, Run, RunFolder};
use assay_runner::{Failure, Finished, Request, Schedule};
use assay_study::Study;
use assay_verdict::Judgement;
use jiff::Timestamp;

use crate::args::RunArguments;
use crate::command::check::check;
use crate::command::export::Beside;
use crate::command::predict;
use crate::command::{compare, index};
use crate::exit::Code;
use crate::finish_run::{judge_run, show};
use crate::load::{Loaded, load};
use crate::output;
use crate::progress::Progress;
use crate::stop::Stop;

/// Runs a study from its file to its verdict.
pub(crate) fn run(arguments: &RunArguments) -> Code {
    if arguments.dry_run {
        return check(&arguments.study, arguments.json);
    }
    match prepare(arguments) {
        Ok(request) => carry_out(&request, arguments),
        Err(code) => code,
    }
}

/// Everything up to the first change of the host.
fn prepare(arguments: &RunArguments) -> Result<Request, Code> {
    prepare_study(arguments, &|_| ())
}

/// The same of a study that is changed in a way that has no option.
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
            for torn in plan.torn(slice) {
                let (measure, over) = (&torn.measure, torn.is.over().join(", "));
                output::say(&format!(
                    "`{measure}` over {over} is not judged: its trials are in several slices"
                ));
            }
            plan.slice(slice)
        }
        None => plan,
    };
    if !plan.refusals.is_empty() {
        for refusal in &plan.refusals {
            output::error(refusal);
        }
        output::say("nothing was touched");
        return Err(Code::Host);
    }
    let name = loaded.study.name.clone();
    let out = (arguments.out.clone(), arguments.trust.trust());
    let request = request(loaded, plan, facts, out, &name, arguments.study.seed)?;
    predict::note(&request, arguments.predict);
    Ok(request)
}

/// What the engine needs for a plan, with a new run folder: `out`, or one of this name, where such
/// a folder may be trusted.
pub(crate) fn request(
    loaded: Loaded,
    plan: Plan,
    facts: HostFacts,
    (out, trust): (Option<PathBuf>, Trust),
    name: &str,
    seed: u64,
) -> Result<Request, Code> {
    refuse_over_unfinished()?;
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
    let wanted = programs(study);
    let wanted = wanted.iter().map(|wanted| (wanted.name.as_str(), wanted.package.as_str()));
    look_for(&mut facts, wanted);
    Ok(facts)
}

/// The plan of a study, with what its generators say that they will take where a limit is a part
/// of that.
pub(crate) fn plan_for(study: &Study, facts: &HostFacts, seed: u64) -> Plan {
    let mut predictions = Predictions::default();
    for command in to_predict(study, facts) {
        let found = assay_runner::footprint(&command);
        predictions.add(command, found);
    }
    plan_with(study, facts, &predictions, seed)
}

pub(crate) fn refuse(error: &dyn std::fmt::Display) -> Code {
    output::error(error);
    Code::Host
}

/// What an earlier run left behind would be taken for the host's own state, so it goes first.
fn refuse_over_unfinished() -> Result<(), Code> {
    let left = unfinished(&state_dir()).map_err(|error| refuse(&error))?;
    let Some(first) = left.first() else { return Ok(()) };
    if first.live {
        output::error(&format!(
            "run {} is in progress{}\n  hint: wait until it is over",
            first.run_id,
            first.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
        ));
    } else {
        output::error(&format!(
            "run {} ended without putting the host back ({})\n  hint: run `assay restore` first",
            first.run_id,
            first.what_is_left()
        ));
    }
    Err(Code::Host)
}

fn carry_out(request: &Request, arguments: &RunArguments) -> Code {
    let live = arguments.live_jsonl.as_deref();
    let beside = match live.map(|out| Beside::start(&request.folder, out)).transpose() {
        Ok(beside) => beside,
        Err(code) => return code,
    };
    let finished = execute(request);
    if let Some(beside) = beside {
        beside.finish();
    }
    let finished = match finished {
        Ok(finished) => finished,
        Err(code) => return code,
    };
    let said = conclude(request, &finished, arguments.json);
    index::update_beside(&request.folder);
    let code = code(&finished, said);
    match (&arguments.baseline, code) {
        (Some(baseline), Code::Kept | Code::Broken | Code::Undecided) => {
            compare::after_run(baseline, &request.folder, code)
        }
        _ => code,
    }
}

/// Runs a request, writes its verdict and report and shows neither: the code that the run alone
/// would end with.
pub(crate) fn execute_study(request: &Request) -> Result<Code, Code> {
    let finished = execute(request)?;
    let judged = judge_finished(request, &finished).map_err(|error| output::error(&error)).ok();
    index::update_beside(&request.folder);
    Ok(code(&finished, judged.as_ref().map(Code::of_judgement)))
}

/// Runs a request with progress on stderr, looking at the data where trials stop once decided.
pub(crate) fn execute(request: &Request) -> Result<Finished, Code> {
    watched(request, |progress, looks| assay_runner::run(request, progress, looks))
}

/// The same where `course` says which repeat comes next, of those of the plan.
pub(crate) fn execute_course(
    request: &Request,
    course: &mut dyn Schedule,
) -> Result<Finished, Code> {
    watched(request, |progress, looks| assay_runner::run_course(request, progress, looks, course))
}

fn watched(
    request: &Request,
    run: impl FnOnce(&mut Progress, &mut Stop) -> Result<Finished, Failure>,
) -> Result<Finished, Code> {
    signal::note_interruptions();
    let mut progress = Progress::new(&request.study, &request.plan);
    let mut looks = Stop::showing(progress.board());
    let finished = run(&mut progress, &mut looks);
    progress.finish();
    finished.map_err(|failure| refuse(&failure))
}

/// Judges and shows what there is, also of a run that ended early, and says what its verdict is as a
/// code. `None` when nothing can be judged or written.
fn conclude(request: &Request, finished: &Finished, as_json: bool) -> Option<Code> {
    match judge_finished(request, finished) {
        Ok(judgement) => {
            show(&request.folder, &finished.manifest, &judgement, as_json);
            Some(Code::of_judgement(&judgement))
        }
        Err(error) => {
            output::error(&error);
            None
        }
    }
}

/// Says what went wrong with a run, and judges what there is of it.
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
    tell_faults(&finished.manifest);
    Run::of(&request.folder).and_then(|run| {
        // What was recorded last counts, also when the disk was too full to write it down.
        let run = Run { manifest: finished.manifest.clone(), ..run };
        judge_run(&request.folder, &run)
    })
}

fn tell_faults(manifest: &Manifest) {
    for repeat in manifest.trials.iter().flat_map(|trial| &trial.repeats) {
        if let Some(fault) = &repeat.fault {
            output::error(&fault.message);
        }
    }
}

/// How a run ends the program: `said` is the code of its verdict, where there is one, and comes last.
pub(crate) fn code(finished: &Finished, said: Option<Code>) -> Code {
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
    match said {
        _ if workload_failed => Code::Workload,
        said => said.unwrap_or(Code::Host),
    }
}
