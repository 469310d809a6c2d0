//! Submitting a study to Slurm, one run per host.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use assay_lab::Argument;
use assay_lab::run_words::run_words;
use assay_run::context::Context;
use assay_run::load::Loaded;
use assay_run::observer::Observer;
use assay_run::overrides::StudyChoice;
use assay_run::prepare::{facts_for, plan_for};
use assay_sys::exit::Error;
use assay_sys::files::Trust;
use jiff::Timestamp;

use super::OpenFleet;
use crate::{Fleet, FleetFolder, Limit, SCHEMA, Script, expand, limit, plan_digest};

/// On which hosts a study runs, and how.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// Nodes, as a Slurm node list; `None` for `nodes` that Slurm chooses.
    pub hosts: Option<String>,
    /// Their number.
    pub nodes: u32,
    /// Partition whose nodes are used; `None` for Slurm's default.
    pub partition: Option<String>,
    /// Folder that all hosts share.
    pub shared: PathBuf,
    /// Folder of this fleet; `None` for one in `shared`.
    pub out: Option<PathBuf>,
    /// Time limit for the run of a host, if the plan cannot tell.
    pub time_limit: Option<Duration>,
    /// Path of the program, the same on all hosts; `None` for that of this program.
    pub program: Option<PathBuf>,
    /// Whether folders that other users can write to are accepted.
    pub trust: Trust,
}

/// Submits a study.
///
/// # Errors
/// Slurm does not answer or refuses the job, the folder cannot be created, or a host could not find the study.
pub fn submit_fleet(
    context: &Context,
    loaded: &Loaded,
    options: &FleetOptions,
    observer: &mut dyn Observer,
) -> Result<OpenFleet, Error> {
    let choice = loaded.choice.clone().unwrap_or_default();
    let facts = facts_for(context, &loaded.study)?;
    let plan = plan_for(context, &loaded.study, &facts, choice.seed);
    crate::find()?;
    let hosts = options.hosts.as_deref().map(expand).transpose()?;
    let hosts = hosts.unwrap_or_default();
    let tasks = if hosts.is_empty() { options.nodes as usize } else { hosts.len() };
    // The script adds the number of the task.
    if i64::try_from(choice.seed).ok().and_then(|seed| seed.checked_add(1 << 20)).is_none() {
        return Err(Error::usage("a fleet has seeds below 2^63\n  hint: give a smaller --seed"));
    }
    let now = Timestamp::now();
    let name = format!("{}-{}-fleet", now.strftime("%Y%m%dT%H%M%SZ"), loaded.study.name);
    let out = options.out.clone().unwrap_or_else(|| options.shared.join(name));
    let folder = FleetFolder::create(&out, options.trust)?;
    let (words, study) = study_words(&choice, loaded, &folder)?;
    let windows = plan.slots.iter().map(|slot| plan.trials[slot.trial].at_most).sum();
    let fleet = Fleet {
        schema: SCHEMA,
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        study: loaded.study.name.clone(),
        title: loaded.study.title.clone(),
        question: loaded.study.question.clone(),
        command: context.command.clone(),
        started_at: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        plan: plan_digest(&loaded.text, Some(&choice.record())),
        seed: choice.seed,
        tasks,
        hosts,
        jobs: Vec::new(),
    };
    let script = Script {
        program: options
            .program
            .clone()
            .map_or_else(std::env::current_exe, Ok)
            .map_err(Error::host)?,
        study,
        words,
        limit: options.time_limit.map_or_else(|| limit(windows, plan.slots.len()), Limit::for_run),
        partition: options.partition.clone(),
        trust_folder: options.trust == Trust::UserConfirmed,
    };
    script.write(&folder, &fleet)?;
    let mut open = OpenFleet { folder, fleet };
    open.submit(&(0..tasks).collect::<Vec<_>>(), &[], observer)?;
    Ok(open)
}

/// The arguments of `assay run` on the hosts, and the files of the study: a study file is copied into the fleet's
/// shared folder with the files that it names, so that it does not change between two hosts.
fn study_words(
    choice: &StudyChoice,
    loaded: &Loaded,
    folder: &FleetFolder,
) -> Result<(Vec<String>, Vec<PathBuf>), Error> {
    let (mut overrides, mut files) = (choice.clone(), Vec::new());
    if Path::new(&choice.study).is_file() {
        files = copy(loaded, folder)?;
        overrides.study = folder.path().join(&files[0]).display().to_string();
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
    Ok((texts, files))
}

/// Copies the study and the files that it names; returns their names in the fleet's folder, the study first.
fn copy(loaded: &Loaded, folder: &FleetFolder) -> Result<Vec<PathBuf>, Error> {
    let study = (PathBuf::from(format!("{}.toml", loaded.study.name)), &loaded.text);
    let named = loaded.named_files.iter().map(|(path, text)| (PathBuf::from(path), text));
    let mut copied = Vec::new();
    // An absolute path stays as it is: the hosts must have that file.
    for (path, text) in std::iter::once(study).chain(named.filter(|(path, _)| path.is_relative())) {
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(Error::host(format!(
                "the study names {}, which is outside its folder\n  hint: put it next to the \
                 study, so that it can be copied for all hosts",
                path.display()
            )));
        }
        let inside = Path::new("study").join(path);
        if let Some(parent) = inside.parent() {
            folder.dir().make_dir(parent).map_err(Error::host)?;
        }
        folder.dir().replace(&inside, text.as_bytes()).map_err(Error::host)?;
        copied.push(inside);
    }
    Ok(copied)
}
