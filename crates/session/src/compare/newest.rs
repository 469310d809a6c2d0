//! The run to compare with a baseline if none is named.

use std::path::{Path, PathBuf};

use assay_run_folder::summaries;

use super::usage;
use crate::error::Error;

/// The newest run in a folder of runs other than the baseline.
///
/// ```
/// use assay_session::{Code, newest_run};
/// let error = newest_run("no/such/folder".as_ref(), "baseline".as_ref()).unwrap_err();
/// assert_eq!(error.code, Code::Usage);
/// ```
///
/// # Errors
/// The folder cannot be read, or holds no other run.
pub fn newest_run(runs: &Path, baseline: &Path) -> Result<PathBuf, Error> {
    let baseline_path = baseline.canonicalize().ok();
    let shown = runs.display();
    let recorded = summaries(runs).map_err(|error| {
        let none = usage(format!(
            "no run was named, and there is no folder `{shown}/` to take the newest from"
        ));
        Error {
            reasons: [vec![error.to_string()], none.reasons].concat(),
            ..Error::ended(none.code)
        }
    })?;
    let others = recorded.into_iter().filter(|(run, _)| run.canonicalize().ok() != baseline_path);
    let newest = others
        .map(|(run, summary)| (summary.started_at, run))
        .filter(|(started_at, _)| !started_at.is_empty())
        .max();
    newest
        .map(|(_, run)| run)
        .ok_or_else(|| usage(format!("`{shown}/` holds no run other than the baseline")))
}
