//! The run to compare with a baseline if none is named.

use std::path::{Path, PathBuf};

use assay_run_folder::summaries;

use super::usage;
use crate::exit::Code;
use crate::output;

/// The newest run in `runs/` other than the baseline.
pub(super) fn run(baseline: &Path) -> Result<PathBuf, Code> {
    let folder = Path::new("runs");
    let baseline_path = baseline.canonicalize().ok();
    let runs = summaries(folder).map_err(|error| {
        output::error(&error);
        usage("no run was named, and there is no folder `runs/` to take the newest from")
    })?;
    let others = runs.into_iter().filter(|(run, _)| run.canonicalize().ok() != baseline_path);
    let newest = others
        .map(|(run, summary)| (summary.started_at, run))
        .filter(|(started_at, _)| !started_at.is_empty())
        .max();
    match newest {
        Some((_, run)) => {
            output::message(&format!("comparing {} with {}", run.display(), baseline.display()));
            Ok(run)
        }
        None => Err(usage("`runs/` holds no run other than the baseline")),
    }
}
