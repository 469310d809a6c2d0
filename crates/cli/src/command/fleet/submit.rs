//! `assay fleet run` and `assay fleet resume`: submit a study as Slurm jobs.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use assay_files::Trust;
use assay_fleet::{
    Choice, Chosen, Fleet, FleetFolder, SCHEMA, Slurm, SplitPromise, Task, TaskState, choose,
    states, submit,
};
use assay_kernel::signal;
use assay_lab::Argument;
use assay_plan::{Plan, Shard};
use assay_session::{Loaded, facts_for, plan_for};
use assay_verdict::HostState;
use assay_verdict::wording::count;
use jiff::Timestamp;

use super::{FleetResumeArguments, FleetRunArguments, limit, open, refuse, wait_and_conclude};
use crate::args::StudyArguments;
use crate::command::lab::study::run_words;
use crate::exit::Code;
use crate::observer::{self, load, this_host};
use crate::output;

/// Submits a study and waits for its end, unless detached.
pub(super) fn run(arguments: &FleetRunArguments) -> Result<Code, Code> {
    signal::note_interruptions();
    let loaded = load(&arguments.study.choice(), arguments.json)?;
    let context = this_host();
    let facts = facts_for(&context, &loaded.study).map_err(|error| observer::refuse(&error))?;
    let plan = plan_for(&context, &loaded.study, &facts, arguments.study.seed);
    let slurm = Slurm::find().map_err(|error| refuse(&error))?;
    let chosen = nodes(arguments, &slurm)?;
    let slices = slices(arguments, &chosen, &plan)?;
    let now = Timestamp::now();
    let name = format!("{}-{}-fleet", now.strftime("%Y%m%dT%H%M%SZ"), loaded.study.name);
    let out = arguments.out.clone().unwrap_or_else(|| arguments.shared.join(name));
    let folder =
        FleetFolder::create(&out, arguments.trust.trust()).map_err(|error| refuse(&error))?;
    let words = study_words(arguments, &loaded, &folder)?;
    let (windows, repeats) = duration(&plan, slices);
    let limit = limit(arguments.time_limit, windows, repeats, chosen.tasks_per_host());
    let mut fleet = Fleet {
        schema: SCHEMA,
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        program: program(arguments)?,
        study: loaded.study.name.clone(),
        title: loaded.study.title.clone(),
        question: loaded.study.question.clone(),
        arguments: words,
        trust_folder: arguments.trust.trust() == Trust::UserConfirmed,
        command: std::env::args().collect(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        slurm: slurm.version.clone(),
        partition: arguments.partition.clone(),
        time_limit_min: limit.minutes,
        signal_ahead_s: limit.signal_ahead_s,
        tasks: tasks(&chosen, slices, arguments.study.seed),
        left_out: chosen.left_out,
        torn: (slices > 1).then(|| torn(&plan, slices)),
        submissions: Vec::new(),
    };
    for torn in fleet.torn.iter().flatten() {
        let over = torn.over.join(", ");
        output::message(&format!(
            "`{}` over {over} is not judged: its trials are divided among hosts",
            torn.measure
        ));
    }
    for left_out in &fleet.left_out {
        output::message(&format!("{} is left out: {}", left_out.node, left_out.why));
    }
    let all: Vec<usize> = (0..fleet.tasks.len()).collect();
    let job = submit(&folder, &mut fleet, &all, &slurm).map_err(|error| refuse(&error))?;
    print_submission(&folder, &fleet, job, all.len());
    detach_or_wait(&folder, &fleet, &slurm, arguments.detach, arguments.json)
}

/// Resubmits failed and lost tasks.
pub(super) fn resume(arguments: &FleetResumeArguments) -> Result<Code, Code> {
    signal::note_interruptions();
    // The folder is submitted with its current contents.
    let (folder, mut fleet, slurm) = open(&arguments.fleet, arguments.trust.trust())?;
    let states = states(&folder, &fleet, &slurm);
    let is_active =
        |state: &TaskState| matches!(state.state, HostState::Waiting | HostState::Running);
    if let Some(task) = states.iter().position(is_active) {
        output::error(&format!(
            "the fleet is still running ({})\n  hint: `assay fleet status` shows it; `assay fleet \
             cancel` ends it",
            fleet.name_of(task)
        ));
        return Err(Code::Host);
    }
    let again: Vec<usize> = (0..states.len()).filter(|task| !has_verdict(&states[*task])).collect();
    if again.is_empty() {
        output::message("every host has a verdict; nothing is submitted");
    } else {
        let job = submit(&folder, &mut fleet, &again, &slurm).map_err(|error| refuse(&error))?;
        print_submission(&folder, &fleet, job, again.len());
    }
    detach_or_wait(&folder, &fleet, &slurm, arguments.detach, arguments.json)
}

/// Whether a task ended with a verdict, whichever.
fn has_verdict(state: &TaskState) -> bool {
    let code = state.record.as_ref().and_then(|record| record.code);
    state.state == HostState::Ended && matches!(code, Some(0 | 1 | 3))
}

fn print_submission(folder: &FleetFolder, fleet: &Fleet, job: u64, tasks: usize) {
    let hosts = count(tasks, "host");
    output::message(&format!(
        "job {job} on {hosts}, at most {} min each; fleet {}",
        fleet.time_limit_min,
        folder.path().display()
    ));
}

fn detach_or_wait(
    folder: &FleetFolder,
    fleet: &Fleet,
    slurm: &Slurm,
    detach: bool,
    as_json: bool,
) -> Result<Code, Code> {
    if !detach {
        return wait_and_conclude(folder, fleet, slurm, as_json);
    }
    let path = folder.path().display();
    let word = assay_escape::shell_word(&path.to_string());
    output::message(&format!(
        "assay fleet status {word}   shows it; collect, cancel and resume too"
    ));
    output::data(&path.to_string());
    Ok(Code::Kept)
}

fn nodes(arguments: &FleetRunArguments, slurm: &Slurm) -> Result<Chosen, Code> {
    let chosen = || {
        let known = slurm.nodes(arguments.partition.as_deref())?;
        let choice = match (&arguments.hosts, arguments.nodes) {
            (Some(list), _) => Choice::Hosts(slurm.expand(list)?),
            (None, Some(count)) => Choice::Count(usize::try_from(count).unwrap_or(usize::MAX)),
            (None, None) => Choice::All,
        };
        choose(known, &choice)
    };
    chosen().map_err(|error| refuse(&error))
}

/// The number of parts of the trials; 1 if every host runs all of them.
fn slices(arguments: &FleetRunArguments, chosen: &Chosen, plan: &Plan) -> Result<usize, Code> {
    let Some(requested) = arguments.slices else { return Ok(1) };
    let (hosts, trials) = (chosen.nodes.len(), plan.trials.len());
    let slices = if requested == 0 { hosts.min(trials.max(1)) } else { requested };
    if slices > hosts || slices > trials {
        output::error(&format!(
            "{slices} parts are too many for {trials} trials on {hosts} hosts\n  hint: every part \
             needs a trial and a host; give a smaller `--slices`, or more values with `--set`"
        ));
        return Err(Code::Usage);
    }
    Ok(slices)
}

fn torn(plan: &Plan, slices: usize) -> Vec<SplitPromise> {
    let torn =
        plan.split_comparisons(Shard::nth(0, slices)).into_iter().map(|promise| SplitPromise {
            is: promise.is.word().to_owned(),
            over: promise.is.over(),
            measure: promise.measure,
            group: promise.group,
        });
    torn.collect()
}

fn tasks(chosen: &Chosen, slices: usize, seed: u64) -> Vec<Task> {
    let task = |(index, node): (usize, &assay_fleet::Node)| Task {
        node: node.name.clone(),
        host_name: node.host_name.clone(),
        seed: seed.wrapping_add(u64::try_from(index).unwrap_or(0)),
        slice: (slices > 1).then(|| Shard::nth(index, slices).to_string()),
    };
    chosen.nodes.iter().enumerate().map(task).collect()
}

/// Window time and repeats of the longest task. A study that this host cannot run is planned
/// nevertheless: only the fleet's hosts must be able to.
fn duration(plan: &Plan, slices: usize) -> (Duration, usize) {
    let parts = (0..slices).map(|index| {
        let slots = plan.slots.iter().filter(|slot| slot.trial % slices == index);
        let windows: Duration = slots.clone().map(|slot| plan.trials[slot.trial].at_most).sum();
        (windows, slots.count())
    });
    parts.max().unwrap_or_default()
}

/// The arguments of `assay run` on the hosts. A study file is copied into the fleet's shared folder
/// with the files that it names.
fn study_words(
    arguments: &FleetRunArguments,
    loaded: &Loaded,
    folder: &FleetFolder,
) -> Result<Vec<String>, Code> {
    let path = Path::new(&arguments.study.study);
    let study = if path.is_file() {
        let copied = copy(loaded, folder).map_err(|error| refuse(&error))?;
        copied.display().to_string()
    } else {
        arguments.study.study.clone()
    };
    let overrides = StudyArguments { study, ..arguments.study.clone() };
    let mut texts = Vec::new();
    for word in run_words(&overrides) {
        match word {
            Argument::Text(text) => texts.push(text),
            Argument::Disk(_) => {
                output::error(
                    &"such disks exist only in the lab\n  hint: --disk loop, block:/dev/x or null_blk:...",
                );
                return Err(Code::Usage);
            }
        }
    }
    // Each host has its own seed.
    if let Some(at) = texts.iter().position(|word| word == "--seed") {
        texts.drain(at..(at + 2).min(texts.len()));
    }
    Ok(texts)
}

fn copy(loaded: &Loaded, folder: &FleetFolder) -> Result<PathBuf, String> {
    let failed = |error: assay_fleet::Error| error.to_string();
    let name = PathBuf::from("study").join(format!("{}.toml", loaded.study.name));
    folder.make_dir(Path::new("study")).map_err(failed)?;
    folder.write_text(&name, &loaded.text).map_err(failed)?;
    for (path, text) in &loaded.named_files {
        let path = Path::new(path);
        // An absolute path stays as it is: the hosts must have that file.
        if path.is_absolute() {
            continue;
        }
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(format!(
                "the study names {}, which is outside its folder\n  hint: put it next to the \
                 study, so that it can be copied for all hosts",
                path.display()
            ));
        }
        let inside = Path::new("study").join(path);
        if let Some(parent) = inside.parent() {
            folder.make_dir(parent).map_err(failed)?;
        }
        folder.write_text(&inside, text).map_err(failed)?;
    }
    Ok(folder.file(name))
}

fn program(arguments: &FleetRunArguments) -> Result<String, Code> {
    if let Some(program) = &arguments.program {
        return Ok(program.display().to_string());
    }
    let own = std::env::current_exe().map_err(|cause| refuse(&cause))?;
    Ok(own.display().to_string())
}
