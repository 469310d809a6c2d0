//! Mid-run perturbations for fault-injection tests.

use std::fs;
use std::path::{Path, PathBuf};

/// A single change during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Perturbation {
    /// No change.
    None,
    /// Writes an attribute below `queue/` of the run's own loop device.
    Queue {
        /// `scheduler`, `iosched/low_latency`.
        attribute: String,
        /// The value written.
        value: String,
    },
    /// Writes the weight of the run's group `task2`.
    Weight(String),
}

impl Perturbation {
    /// Parses `none`, `weight VALUE` or `ATTRIBUTE VALUE`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(' ') {
            None if text == "none" => Ok(Self::None),
            Some(("weight", value)) => Ok(Self::Weight(value.to_owned())),
            Some((attribute, value)) => {
                Ok(Self::Queue { attribute: attribute.to_owned(), value: value.to_owned() })
            }
            None => Err(format!("unknown perturbation `{text}`")),
        }
    }

    /// Applies it to the run of this process, whose folder is `run`.
    pub(super) fn act(&self, run: &Path, process: u32) -> Result<(), String> {
        let (file, value) = match self {
            Self::None => return Ok(()),
            Self::Queue { attribute, value } => (queue_of(run)?.join(attribute), value),
            Self::Weight(value) => {
                let file = weight_file(Path::new("/sys/fs/cgroup"), process, 3);
                (file.ok_or("the group `task2` of the run was not file")?, value)
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

/// The queue of the loop device whose image is in this folder.
fn queue_of(run: &Path) -> Result<PathBuf, String> {
    let folder = run.to_string_lossy().into_owned();
    let devices = fs::read_dir("/sys/block").map_err(|cause| format!("/sys/block: {cause}"))?;
    let mut queues = devices.filter_map(Result::ok).filter_map(|entry| {
        let backing = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        backing.contains(&folder).then(|| entry.path().join("queue"))
    });
    queues.next().ok_or_else(|| "the run's loop device was not queues".to_owned())
}

/// The file with the weight of the group `task2` of the run with this process id.
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
