//! What a copied run says that it is, and whether all of it is there.

use std::collections::BTreeSet;

use assay_escape::beginning;
use assay_files::Dir;
use assay_run_folder::{Manifest, RunFolder, TrialRecord, sample_files};
use assay_verdict::Judgement;

use crate::plan_digest::plan_of;
use crate::task_runs::{TaskRuns, Unread, read_error};

/// Signs of a host's name.
const LONGEST_NAME: usize = 64;

/// Bytes of every other text of a run that is kept: those of all runs are in memory, and in fleet.json.
const LONGEST_TEXT: usize = 1 << 10;

/// What distinguishes a run from all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// The digest of its plan.
    pub(super) plan: String,
    /// `uname -n` of its host.
    pub(super) host: String,
    pub(super) seed: u64,
    /// Its part of the trials, `2/4`.
    pub(super) slice: Option<String>,
    pub(super) started_at: String,
}

/// Reads the manifest in a folder; `Err` says why the folder holds no run of a study.
pub(super) fn manifest_in(dir: Dir) -> Result<(RunFolder, Manifest), String> {
    let folder = RunFolder::from_dir(dir)
        .map_err(|_| "it was copied in part: it has no manifest.json".to_owned())?;
    let manifest = folder.read_manifest().map_err(|error| read_error(&error))?;
    match manifest.recording {
        None => Ok((folder, manifest)),
        Some(_) => Err("it is a recording and not a run of a study".to_owned()),
    }
}

impl Identity {
    pub(super) fn new(manifest: &Manifest) -> Self {
        let host: String = manifest.host.host_name.chars().take(LONGEST_NAME).collect();
        Self {
            plan: plan_of(manifest),
            host: if host.is_empty() { "unknown".to_owned() } else { host },
            seed: manifest.seed,
            slice: slice(&manifest.command),
            started_at: cut(&manifest.started_at),
        }
    }
}

/// The beginning of a text, of at most 1 KiB.
pub(super) fn cut(text: &str) -> String {
    beginning(text, LONGEST_TEXT).to_owned()
}

/// The part of the trials that a command line chose with `--shard 2/4`.
fn slice(command: &[String]) -> Option<String> {
    let mut words = command.iter();
    let part = words.find_map(|word| match word.strip_prefix("--shard") {
        Some("") => Some(None),
        Some(rest) => rest.strip_prefix('=').map(Some),
        None => None,
    })?;
    let part = part.or_else(|| words.next().map(String::as_str))?;
    let (number, parts) = part.split_once('/')?;
    let (number, parts): (u32, u32) = (number.parse().ok()?, parts.parse().ok()?);
    Some(format!("{number}/{parts}"))
}

/// The verdict of a run of which everything is there; otherwise what is missing.
pub(super) fn whole(
    folder: &RunFolder,
    manifest: &Manifest,
    runs: &mut TaskRuns,
) -> Result<Judgement, String> {
    if manifest.restored.is_none() {
        return Err("it was copied before the run had ended".to_owned());
    }
    let judgement = runs.judgement(folder).map_err(|unread| match unread {
        Unread::Run(why) | Unread::Limit(why) => why,
    })?;
    for trial in &manifest.trials {
        samples_of(folder, trial).map_err(|why| format!("it was copied in part: {why}"))?;
    }
    Ok(judgement)
}

/// All repeats of a trial sample the same sources, and a file that was copied in part has no end.
fn samples_of(folder: &RunFolder, trial: &TrialRecord) -> Result<(), String> {
    let mut all = BTreeSet::new();
    let mut by_repeat = Vec::new();
    for repeat in &trial.repeats {
        // It failed before its window, and may have no samples.
        if repeat.fault.is_some() || repeat.released_ns == 0 {
            continue;
        }
        let name = &repeat.samples;
        let dir = folder.samples(name).map_err(|error| read_error(&error))?;
        let dir = dir.ok_or_else(|| format!("samples/{name} is missing"))?;
        let files = sample_files(&dir).map_err(|error| read_error(&error))?;
        for file in &files {
            let wrong = |why| format!("samples/{name}/{}: {why}", file.name.display());
            file.check(&dir).map_err(|error| wrong(error.cause))?;
        }
        let sources: BTreeSet<String> = files.into_iter().map(|file| file.source).collect();
        all.extend(sources.iter().cloned());
        by_repeat.push((name, sources));
    }
    for (name, sources) in &by_repeat {
        if let Some(lacks) = all.difference(sources).next() {
            return Err(format!("samples/{name} has no `{lacks}`, which other repeats have"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_the_trials_is_that_of_the_command_line() {
        let of = |line: &str| slice(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("assay run x --shard 2/4 --seed 7").as_deref(), Some("2/4"));
        assert_eq!(of("assay run x --shard=02/4").as_deref(), Some("2/4"));
        for line in
            ["assay run x", "assay run --shards 2", "assay run --shard", "assay run --shard=x/y"]
        {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
