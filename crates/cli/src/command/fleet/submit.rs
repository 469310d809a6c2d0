//! `assay fleet run` and `assay fleet resume`: from a study to jobs in the queue.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use assay_files::Trust;
use assay_fleet::{
    Choice, Chosen, Fleet, FleetFolder, SCHEMA, Slurm, Task, TaskState, Torn, choose, states,
    submit,
};
use assay_kernel::signal;
use assay_lab::Word;
use assay_plan::{Plan, Shard};
use assay_verdict::HostState;
use assay_verdict::wording::count;
use jiff::Timestamp;

use super::{FleetResumeArguments, FleetRunArguments, limit, open, refuse, wait_and_conclude};
use crate::args::StudyArguments;
use crate::command::lab::study::words;
use crate::command::run::{facts_for, plan_for};
use crate::exit::Code;
use crate::load::{Loaded, load};
use crate::output;

/// Submits a study and waits for its end, unless told to leave.
pub(super) fn run(arguments: &FleetRunArguments) -> Result<Code, Code> {
    signal::note_interruptions();
    let loaded = load(&arguments.study, arguments.json)?;
    let facts = facts_for(&loaded.study).map_err(|error| refuse(&error))?;
    let plan = plan_for(&loaded.study, &facts, arguments.study.seed);
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
    let limit = limit(arguments.time_limit, windows, repeats, chosen.turns());
    let mut fleet = Fleet {
        schema: SCHEMA,
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        program: program(arguments)?,
        study: loaded.study.name.clone(),
        title: loaded.study.title.clone(),
        question: loaded.study.question.clone(),
        arguments: words,
        trust_folder: arguments.trust.trust() == Trust::Told,
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
        output::say(&format!(
            "no host can judge `{}` over {over}: its trials are divided",
            torn.measure
        ));
    }
    for left_out in &fleet.left_out {
        output::say(&format!("{} is left out: {}", left_out.node, left_out.why));
    }
    let all: Vec<usize> = (0..fleet.tasks.len()).collect();
    let job = submit(&folder, &mut fleet, &all, &slurm).map_err(|error| refuse(&error))?;
    said(&folder, &fleet, job, all.len());
    leave_or_wait(&folder, &fleet, &slurm, arguments.detach, arguments.json)
}

/// Submits again what failed or was lost.
pub(super) fn resume(arguments: &FleetResumeArguments) -> Result<Code, Code> {
    signal::note_interruptions();
    // What stands in it is submitted as it is now.
    let (folder, mut fleet, slurm) = open(&arguments.fleet, arguments.trust.trust())?;
    let found = states(&folder, &fleet, &slurm);
    let at_work =
        |state: &TaskState| matches!(state.state, HostState::Waiting | HostState::Running);
    if let Some(task) = found.iter().position(at_work) {
        output::error(&format!(
            "the fleet is at work ({})\n  hint: `assay fleet status` shows it; `assay fleet cancel` \
             ends it",
            fleet.name_of(task)
        ));
        return Err(Code::Host);
    }
    let again: Vec<usize> = (0..found.len()).filter(|task| !has_verdict(&found[*task])).collect();
    if again.is_empty() {
        output::say("every host has brought its verdict; nothing is submitted");
    } else {
        let job = submit(&folder, &mut fleet, &again, &slurm).map_err(|error| refuse(&error))?;
        said(&folder, &fleet, job, again.len());
    }
    leave_or_wait(&folder, &fleet, &slurm, arguments.detach, arguments.json)
}

/// Whether a task ended as a whole run does; its verdict may be any.
fn has_verdict(state: &TaskState) -> bool {
    let code = state.record.as_ref().and_then(|record| record.code);
    state.state == HostState::Ended && matches!(code, Some(0 | 1 | 3))
}

fn said(folder: &FleetFolder, fleet: &Fleet, job: u64, tasks: usize) {
    let hosts = count(tasks, "host");
    output::say(&format!(
        "job {job} on {hosts}, at most {} min each; fleet {}",
        fleet.time_limit_min,
        folder.path().display()
    ));
}

fn leave_or_wait(
    folder: &FleetFolder,
    fleet: &Fleet,
    slurm: &Slurm,
    detach: bool,
    as_json: bool,
) -> Result<Code, Code> {
    if !detach {
        return wait_and_conclude(folder, fleet, slurm, as_json);
    }
    let place = folder.path().display();
    let word = assay_escape::shell_word(&place.to_string());
    output::say(&format!("assay fleet status {word}   shows it; collect, cancel and resume too"));
    output::data(&place.to_string());
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

/// Into how many parts the trials are divided; one part is all of them.
fn slices(arguments: &FleetRunArguments, chosen: &Chosen, plan: &Plan) -> Result<usize, Code> {
    let Some(asked) = arguments.slices else { return Ok(1) };
    let (hosts, trials) = (chosen.nodes.len(), plan.trials.len());
    let slices = if asked == 0 { hosts.min(trials.max(1)) } else { asked };
    if slices > hosts || slices > trials {
        output::error(&format!(
            "{slices} parts are too many for {trials} trials on {hosts} hosts\n  hint: every part \
             needs a trial and a host; give `--slices` a smaller number, or more values with `--set`"
        ));
        return Err(Code::Usage);
    }
    Ok(slices)
}

fn torn(plan: &Plan, slices: usize) -> Vec<Torn> {
    let torn = plan.torn(Shard::nth(0, slices)).into_iter().map(|promise| Torn {
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

/// Time in windows and repeats of the task that has most of them. A study that this host could not
/// run is planned all the same: only its hosts must be able to.
fn duration(plan: &Plan, slices: usize) -> (Duration, usize) {
    let parts = (0..slices).map(|index| {
        let slots = plan.slots.iter().filter(|slot| slot.trial % slices == index);
        let windows: Duration = slots.clone().map(|slot| plan.trials[slot.trial].at_most).sum();
        (windows, slots.count())
    });
    parts.max().unwrap_or_default()
}

/// What follows `assay run` on the hosts. A study file goes into the fleet's folder with the files
/// that it names: all hosts share that, and nobody changes it.
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
    let told = StudyArguments { study, ..arguments.study.clone() };
    let mut texts = Vec::new();
    for word in words(&told) {
        match word {
            Word::Text(text) => texts.push(text),
            Word::Disk(_) => {
                output::error(
                    &"the lab alone has such disks\n  hint: --disk loop, block:/dev/x or null_blk:...",
                );
                return Err(Code::Usage);
            }
        }
    }
    // Each host has a seed of its own.
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
    for (path, text) in &loaded.beside {
        let path = Path::new(path);
        // A whole path stays what it is: the hosts have to have that file.
        if path.is_absolute() {
            continue;
        }
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(format!(
                "the study names {}, which lies outside of its folder\n  hint: put it beside the \
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
