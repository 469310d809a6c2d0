//! Reads the runs of one task within limits: the host that writes them could write any number.

use assay_run_folder::{RunFolder, parse_json};
use assay_verdict::Judgement;
use serde::Deserialize;

use crate::folder::MOST_DOCUMENT;

/// The supported version of `verdict.json`.
const VERDICT_SCHEMA: u32 = 1;

/// Runs of one task: that many resubmissions are rather a new fleet.
const MOST_RUNS: usize = 100;

/// Bytes of the verdicts of all runs of one task.
const MOST_BYTES: u64 = 256 << 20;

/// Trials, promises and groups in the verdicts of all runs of one task.
pub(crate) const MOST_ENTRIES: usize = 1 << 16;

/// The verdict's file in a run folder.
const NAME: &str = "verdict.json";

/// What may still be read of the runs of one task.
pub(crate) struct TaskRuns {
    /// The task, as it is named in errors.
    name: String,
    runs: usize,
    bytes: u64,
    entries: usize,
}

/// Why a verdict is not available.
pub(crate) enum Unread {
    /// This run has none that can be read.
    Run(String),
    /// The runs of the task hold more than is read.
    Limit(String),
}

/// The format of a judgement, read before the rest of it.
#[derive(Deserialize)]
struct Format {
    schema: Option<u64>,
}

impl TaskRuns {
    /// For task number `task`, which ran on this node.
    pub(crate) fn new(task: usize, node: &str) -> Self {
        let name = format!("the runs of {node} in tasks/{task:02}");
        Self { name, runs: MOST_RUNS, bytes: MOST_BYTES, entries: MOST_ENTRIES }
    }

    /// For one run that was copied from its host.
    pub(crate) fn of_copy() -> Self {
        let name = "the verdicts of this copy".to_owned();
        Self { name, runs: MOST_RUNS, bytes: MOST_BYTES, entries: MOST_ENTRIES }
    }

    /// The verdict in a run folder of the task.
    pub(crate) fn judgement(&mut self, folder: &RunFolder) -> Result<Judgement, Unread> {
        let Some(runs) = self.runs.checked_sub(1) else {
            return Err(self.limit(&format!("are more than {MOST_RUNS}")));
        };
        self.runs = runs;
        let text = folder.dir().text(NAME, MOST_DOCUMENT);
        let text = text.map_err(|error| Unread::Run(read_error(&error.into())))?;
        let Some(bytes) = self.bytes.checked_sub(text.len() as u64) else {
            let limit = MOST_BYTES >> 20;
            return Err(self.limit(&format!("have verdicts of more than {limit} MiB in all")));
        };
        self.bytes = bytes;
        let judgement = parse(&text).map_err(Unread::Run)?;
        let Some(entries) = self.entries.checked_sub(entries(&judgement)) else {
            let what = format!(
                "have more than {MOST_ENTRIES} trials, promises and groups in their {NAME} in all"
            );
            return Err(self.limit(&what));
        };
        self.entries = entries;
        Ok(judgement)
    }

    fn limit(&self, what: &str) -> Unread {
        Unread::Limit(format!(
            "{} {what}, the limit of a task; find out what wrote them, and submit the study as a new fleet",
            self.name
        ))
    }
}

fn entries(judgement: &Judgement) -> usize {
    let promises = judgement.trials.iter().flat_map(|trial| &trial.promises);
    judgement.trials.len()
        + judgement.comparisons.len()
        + promises.map(|promise| 1 + promise.groups.len()).sum::<usize>()
}

fn parse(text: &str) -> Result<Judgement, String> {
    let wrong = |cause: serde_json::Error| format!("cannot read {NAME}: {cause}");
    let Format { schema } = parse_json(text).map_err(wrong)?;
    if schema != Some(u64::from(VERDICT_SCHEMA)) {
        return Err(format!(
            "{NAME} has schema {}, written by another version of Assay",
            schema.map_or_else(|| "none".to_owned(), |number| number.to_string())
        ));
    }
    parse_json(text).map_err(wrong)
}

/// An error without the path of the folder, which differs from fleet to fleet.
pub(crate) fn read_error(error: &assay_run_folder::Error) -> String {
    let name = error.path.file_name().unwrap_or_default();
    format!("cannot read {}: {}", name.display(), error.cause)
}
