//! Everything that was changed on the host, and whether it was put back.

use assay_facts::Available;
use assay_run_folder::{Change, Manifest};
use assay_verdict::Judgement;
use serde::Serialize;

/// All changes of a run.
#[derive(Serialize)]
pub(super) struct Changes {
    /// `yes`, `no`, `not known`.
    restored: &'static str,
    says: &'static str,
    rows: Vec<Row>,
    /// How many were not taken back.
    left: usize,
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
    pub(super) fn of(manifest: &Manifest, judgement: &Judgement) -> Self {
        let rows: Vec<Row> = manifest.changes.iter().map(row).collect();
        let (restored, says) = match judgement.restored.or(manifest.restored) {
            Some(true) => ("yes", "The host was restored to what it was."),
            Some(false) => (
                "no",
                "The host was not restored completely. Run `assay restore`; it takes back \
                 what is listed as left below.",
            ),
            None => (
                "not known",
                "The run never said whether the host was restored. Run `assay restore`: it \
                 does nothing where nothing is left.",
            ),
        };
        Self { restored, says, left: rows.iter().filter(|row| !row.ok).count(), rows }
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
