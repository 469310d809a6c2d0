//! The run to compare with a baseline if none is named.

use std::path::Path;

use assay_files::Dir;
use assay_run_folder::{RunFolder, summaries};

use super::usage;
use crate::exit::Code;
use crate::output;

/// The newest run in `runs/` other than the baseline, open.
pub(super) fn run(baseline: &Path) -> Result<RunFolder, Code> {
    let refused = |error: &dyn std::fmt::Display| {
        output::error(error);
        usage("no run was named, and there is no folder `runs/` to take the newest from")
    };
    let folder = Dir::open(Path::new("runs")).map_err(|error| refused(&error))?;
    let runs = summaries(&folder).map_err(|error| refused(&error))?;
    let not_this = Dir::open(baseline).and_then(|dir| dir.identity()).ok();
    let newest = runs
        .filter(|(run, summary)| !summary.started_at.is_empty() && run.identity().ok() != not_this)
        .max_by(|(a, at_a), (b, at_b)| {
            (&at_a.started_at, a.path()).cmp(&(&at_b.started_at, b.path()))
        });
    let Some((run, _)) = newest else {
        return Err(usage("`runs/` holds no run other than the baseline"));
    };
    let path = run.path().display();
    output::message(&format!("comparing {path} with {}", baseline.display()));
    RunFolder::from_dir(run).map_err(|error| refused(&error))
}
