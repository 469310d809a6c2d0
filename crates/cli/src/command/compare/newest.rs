//! The run that is compared with a baseline where none is named.

use std::path::{Path, PathBuf};

use assay_run_folder::summaries;

use super::usage;
use crate::exit::Code;
use crate::output;

/// The newest run beside the baseline or in `runs/` that promises something and is not the baseline.
pub(super) fn run(baseline: &Path) -> Result<PathBuf, Code> {
    let folder = Path::new("runs");
    let of_baseline = baseline.canonicalize().ok();
    let found = summaries(folder).map_err(|error| {
        output::error(&error);
        usage(
            "without a run to compare, the newest in `runs/` is taken, and there is no such folder",
        )
    })?;
    let others = found.into_iter().filter(|(run, _)| run.canonicalize().ok() != of_baseline);
    let newest = others
        .map(|(run, seen)| (seen.started_at, run))
        .filter(|(started_at, _)| !started_at.is_empty())
        .max();
    match newest {
        Some((_, run)) => {
            output::say(&format!("comparing {} with {}", run.display(), baseline.display()));
            Ok(run)
        }
        None => Err(usage("`runs/` holds no run beside the baseline")),
    }
}
