//! Submitting a study to Slurm, one run per host.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use assay_files::Trust;
use assay_fleet::{
    Choice, Chosen, Fleet, FleetFolder, Limit, SCHEMA, Slurm, SplitPromise, Task, TaskState,
    choose, plan_digest, states, submit,
};
use assay_lab::Argument;
use assay_plan::{Plan, Shard};
use assay_verdict::HostState;
use assay_verdict::wording::count;
use jiff::Timestamp;

use super::open_fleet;
use crate::context::Context;
use crate::error::Error;
use crate::load::Loaded;
use crate::observer::Observer;
use crate::overrides::StudyChoice;
use crate::prepare::{facts_for, plan_for};
use crate::run_words::run_words;

/// On which hosts a study runs, and how.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// Nodes, as a Slurm node list; `None` for `nodes` idle ones or all.
    pub hosts: Option<String>,
    /// Number of nodes, idle ones first; `None` for all.
    pub nodes: Option<u32>,
    /// Partition whose nodes are used; `None` for Slurm's default.
    pub partition: Option<String>,
    /// Number of parts into which the trials are divided; 0 for as many as hosts. With `None` every host
    /// runs all trials.
    pub slices: Option<usize>,
    /// Folder that all hosts share.
    pub shared: PathBuf,
    /// Folder of this fleet; `None` for one in `shared`.
    pub out: Option<PathBuf>,
    /// Time limit for the run of a host, if the plan cannot tell.
    pub time_limit: Option<Duration>,
    /// Path of the program on the hosts; `None` for that of this program.
    pub program: Option<PathBuf>,
    /// Whether folders that other users can write to are accepted.
    pub trust: Trust,
}

/// A fleet with its folder.
#[derive(Debug)]
pub struct OpenFleet {
    /// The folder.
    pub folder: FleetFolder,
    /// Its document.
    pub fleet: Fleet,
    /// The Slurm that runs it.
    pub slurm: Slurm,
}

/// Submits a study.
///
/// # Errors
/// Slurm does not answer or has not these nodes, the folder cannot be created, or a host could not
/// find the study.
pub fn submit_fleet(
    context: &Context,
    loaded: &Loaded,
    options: &FleetOptions,
    observer: &mut dyn Observer,
) -> Result<OpenFleet, Error> {
    let choice = loaded.choice.clone().unwrap_or_default();
    let facts = facts_for(context, &loaded.study)?;
    let plan = plan_for(context, &loaded.study, &facts, choice.seed);
    let slurm = Slurm::find().map_err(Error::host)?;
    let chosen = nodes(options, &slurm)?;
    let slices = slices(options.slices, &chosen, &plan)?;
    let now = Timestamp::now();
    let name = format!("{}-{}-fleet", now.strftime("%Y%m%dT%H%M%SZ"), loaded.study.name);
    let out = options.out.clone().unwrap_or_else(|| options.shared.join(name));
    let folder = FleetFolder::create(&out, options.trust).map_err(Error::host)?;
    let arguments = study_words(&choice, loaded, &folder)?;
    let (windows, repeats) = duration(&plan, slices);
    let planned = || assay_fleet::limit(windows, repeats, chosen.tasks_per_host());
    let limit = options.time_limit.map_or_else(planned, Limit::for_run);
    let mut fleet = Fleet {
        schema: SCHEMA,
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        program: program(options)?,
        study: loaded.study.name.clone(),
        title: loaded.study.title.clone(),
        question: loaded.study.question.clone(),
        arguments,
        trust_folder: options.trust == Trust::UserConfirmed,
        command: context.command.clone(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        slurm: slurm.version.clone(),
        partition: options.partition.clone(),
        time_limit_min: limit.minutes,
        signal_ahead_s: limit.signal_ahead_s,
        tasks: tasks(&chosen, slices, choice.seed),
        plan: Some(plan_digest(&loaded.text, Some(&choice.record()))),
        copied: false,
        refused: Vec::new(),
        left_out: chosen.left_out,
        torn: (slices > 1).then(|| torn(&plan, slices)),
        submissions: Vec::new(),
    };
    report_left_out(&fleet, observer);
    let all: Vec<usize> = (0..fleet.tasks.len()).collect();
    let jobs = submit(&folder, &mut fleet, &all, &slurm).map_err(Error::host)?;
    report_submission(&folder, &fleet, &jobs, observer);
    Ok(OpenFleet { folder, fleet, slurm })
}

/// Submits the failed and lost tasks of a fleet again.
///
/// # Errors
/// The folder holds no fleet, or the fleet is still running.
pub fn resubmit_fleet(
    path: &Path,
    trust: Trust,
    observer: &mut dyn Observer,
) -> Result<OpenFleet, Error> {
    // The folder is submitted with its current contents.
    let OpenFleet { folder, mut fleet, slurm } = open_fleet(path, trust)?;
    let states = states(&folder, &fleet, &slurm);
    let is_active =
        |state: &TaskState| matches!(state.state, HostState::Waiting | HostState::Running);
    if let Some(task) = states.iter().position(is_active) {
        return Err(Error::host(format!(
            "the fleet is still running ({})\n  hint: `assay fleet status` shows it; `assay fleet \
             cancel` ends it",
            fleet.name_of(task)
        )));
    }
    let again: Vec<usize> = (0..states.len()).filter(|task| !has_verdict(&states[*task])).collect();
    if again.is_empty() {
        observer.message("every host has a verdict; nothing is submitted");
    } else {
        let jobs = submit(&folder, &mut fleet, &again, &slurm).map_err(Error::host)?;
        report_submission(&folder, &fleet, &jobs, observer);
    }
    Ok(OpenFleet { folder, fleet, slurm })
}

/// Reports promises that no host can judge, and nodes that are not used.
fn report_left_out(fleet: &Fleet, observer: &mut dyn Observer) {
    for torn in fleet.torn.iter().flatten() {
        let over = torn.over.join(", ");
        observer.message(&format!(
            "`{}` over {over} is not judged: its trials are divided among hosts",
            torn.measure
        ));
    }
    for left_out in &fleet.left_out {
        observer.message(&format!("{} is left out: {}", left_out.node, left_out.why));
    }
}

/// Whether a task ended with a verdict, whichever.
fn has_verdict(state: &TaskState) -> bool {
    let code = state.record.as_ref().and_then(|record| record.code);
    state.state == HostState::Ended && matches!(code, Some(0 | 1 | 3))
}

fn report_submission(
    folder: &FleetFolder,
    fleet: &Fleet,
    jobs: &[u64],
    observer: &mut dyn Observer,
) {
    let hosts = count(jobs.len(), "host");
    let ids = match jobs {
        [first, .., last] => format!("jobs {first} to {last}"),
        _ => jobs.iter().map(|job| format!("job {job}")).collect(),
    };
    observer.message(&format!(
        "{ids} on {hosts}, at most {} min each; fleet {}",
        fleet.time_limit_min,
        folder.path().display()
    ));
}

fn nodes(options: &FleetOptions, slurm: &Slurm) -> Result<Chosen, Error> {
    let chosen = || {
        let known = slurm.nodes(options.partition.as_deref())?;
        let choice = match (&options.hosts, options.nodes) {
            (Some(list), _) => Choice::Hosts(slurm.expand(list)?),
            (None, Some(count)) => Choice::Count(usize::try_from(count).unwrap_or(usize::MAX)),
            (None, None) => Choice::All,
        };
        choose(known, &choice)
    };
    chosen().map_err(Error::host)
}

/// The number of parts of the trials; 1 if every host runs all of them.
fn slices(requested: Option<usize>, chosen: &Chosen, plan: &Plan) -> Result<usize, Error> {
    let Some(requested) = requested else { return Ok(1) };
    let (hosts, trials) = (chosen.nodes.len(), plan.trials.len());
    let slices = if requested == 0 { hosts.min(trials.max(1)) } else { requested };
    if slices > hosts || slices > trials {
        return Err(Error::usage(format!(
            "{slices} parts are too many for {trials} trials on {hosts} hosts\n  hint: every part \
             needs a trial and a host; give a smaller `--shards`, or more values with `--set`"
        )));
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
    choice: &StudyChoice,
    loaded: &Loaded,
    folder: &FleetFolder,
) -> Result<Vec<String>, Error> {
    let mut overrides = choice.clone();
    if Path::new(&choice.study).is_file() {
        overrides.study = copy(loaded, folder).map_err(Error::host)?.display().to_string();
        // What is copied is the study, in which those of a job file are.
        overrides.weights = None;
    }
    let mut texts = Vec::new();
    for word in run_words(&overrides) {
        match word {
            Argument::Text(text) => texts.push(text),
            Argument::Disk(_) => {
                return Err(Error::usage(
                    "such disks exist only in the lab\n  hint: --disk loop, block:/dev/x or null_blk:...",
                ));
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

fn program(options: &FleetOptions) -> Result<String, Error> {
    if let Some(program) = &options.program {
        return Ok(program.display().to_string());
    }
    let own = std::env::current_exe().map_err(Error::host)?;
    Ok(own.display().to_string())
}
