//! All changes of the host, and whether they were restored.

use assay_facts::Available;
use assay_run_folder::{Change, Manifest};
use assay_verdict::Judgement;
use serde::Serialize;

/// All changes of a run.
#[derive(Serialize)]
pub(super) struct Changes {
    /// `yes`, `no`, `not known`.
    restored: &'static str,
    text: &'static str,
    rows: Vec<Row>,
    /// Number of changes that were not restored.
    remaining: usize,
}

#[derive(Serialize)]
struct Row {
    what: String,
    before: Option<String>,
    set: Option<String>,
    ok: bool,
    restored: String,
}

impl Changes {
    pub(super) fn new(manifest: &Manifest, judgement: &Judgement) -> Self {
        let rows: Vec<Row> = manifest.changes.iter().map(row).collect();
        let (restored, text) = match judgement.restored.or(manifest.restored) {
            Some(true) => ("yes", "The host was restored."),
            Some(false) => (
                "no",
                "The host was not restored completely. Run `assay restore`; it restores \
                 the changes listed below as not restored.",
            ),
            None => (
                "not known",
                "The run did not record whether the host was restored. Run `assay restore`: \
                 it does nothing if nothing is left to restore.",
            ),
        };
        Self { restored, text, remaining: rows.iter().filter(|row| !row.ok).count(), rows }
    }
}

fn row(change: &Change) -> Row {
    let (ok, restored) = match &change.restored {
        Available::Value(true) => (true, "restored".to_owned()),
        Available::Value(false) => (false, "left as set".to_owned()),
        Available::NotAvailable(reason) => (false, reason.clone()),
    };
    Row {
        what: change.what.clone(),
        before: change.before.clone(),
        set: change.set.clone(),
        ok,
        restored,
    }
}
