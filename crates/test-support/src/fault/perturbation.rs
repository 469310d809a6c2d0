//! What a hand outside of Assay does while a run goes on.

use std::fs;
use std::path::{Path, PathBuf};

/// One thing that is done once in mid-run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Perturbation {
    /// Nothing.
    Rests,
    /// Writes an attribute below `queue/` of the run's own loop device.
    Queue {
        /// `scheduler`, `iosched/low_latency`.
        attribute: String,
        /// What is written.
        value: String,
    },
    /// Writes the weight of the run's group `task2`.
    Weight(String),
}

impl Perturbation {
    /// Reads `none`, `weight VALUE` or `ATTRIBUTE VALUE`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(' ') {
            None if text == "none" => Ok(Self::Rests),
            Some(("weight", value)) => Ok(Self::Weight(value.to_owned())),
            Some((attribute, value)) => {
                Ok(Self::Queue { attribute: attribute.to_owned(), value: value.to_owned() })
            }
            None => Err(format!("`{text}` is nothing that a hand could do")),
        }
    }

    /// Does it to the run of this process, whose folder is `run`.
    pub(super) fn act(&self, run: &Path, process: u32) -> Result<(), String> {
        let (file, value) = match self {
            Self::Rests => return Ok(()),
            Self::Queue { attribute, value } => (queue_of(run)?.join(attribute), value),
            Self::Weight(value) => {
                let found = weight_file(Path::new("/sys/fs/cgroup"), process, 3);
                (found.ok_or("the group `task2` of the run was not found")?, value)
            }
        };
        fs::write(&file, value).map_err(|cause| format!("{}: {cause}", file.display()))
    }
}

/// Whether the window of the run has begun.
pub(super) fn has_begun(run: &Path) -> bool {
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
    events.contains("\"text\":\"run\"")
}

/// The queue of the loop device whose image lies in this folder.
fn queue_of(run: &Path) -> Result<PathBuf, String> {
    let place = run.to_string_lossy().into_owned();
    let devices = fs::read_dir("/sys/block").map_err(|cause| format!("/sys/block: {cause}"))?;
    let mut found = devices.filter_map(Result::ok).filter_map(|entry| {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        backing.contains(&place).then(|| entry.path().join("queue"))
    });
    found.next().ok_or_else(|| "the run's loop device was not found".to_owned())
}

/// The file of the group `task2` of the run with this process id that holds its weight.
fn weight_file(below: &Path, run: u32, depth: u32) -> Option<PathBuf> {
    let entries = fs::read_dir(below).ok()?.filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for folder in folders.map(|entry| entry.path()) {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        if name.starts_with("assay-") && name.ends_with(&format!("-{run}")) {
            let files = ["blkio.bfq.weight", "io.bfq.weight", "io.weight"];
            let mut files = files.map(|file| folder.join("task2").join(file)).into_iter();
            if let Some(file) = files.find(|file| file.exists()) {
                return Some(file);
            }
        } else if depth > 0
            && let Some(file) = weight_file(&folder, run, depth - 1)
        {
            return Some(file);
        }
    }
    None
}
