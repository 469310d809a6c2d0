//! The run to compare with a baseline if none is named.

use std::path::Path;

use assay_record::run_folder::{RunFolder, summaries};
use assay_sys::exit::Error;
use assay_sys::files::Dir;

use super::usage;

/// The newest run in a folder of runs other than the baseline, open.
///
/// # Errors
/// The folder cannot be read, or holds no other run.
pub fn newest_run(runs: &Path, baseline: &Path) -> Result<RunFolder, Error> {
    let shown = runs.display();
    let refused = |error: &dyn std::fmt::Display| {
        let none = usage(format!(
            "no run was named, and there is no folder `{shown}/` to take the newest from"
        ));
        let reasons = [vec![error.to_string()], none.reasons].concat();
        Error { reasons, ..Error::ended(none.code) }
    };
    let folder = Dir::open(runs).map_err(|error| refused(&error))?;
    let recorded = summaries(&folder).map_err(|error| refused(&error))?;
    let not_this = Dir::open(baseline).and_then(|dir| dir.identity()).ok();
    let newest = recorded
        .filter(|(run, summary)| !summary.started_at.is_empty() && run.identity().ok() != not_this)
        .max_by(|(a, at_a), (b, at_b)| {
            (&at_a.started_at, a.path()).cmp(&(&at_b.started_at, b.path()))
        });
    let (run, _) =
        newest.ok_or_else(|| usage(format!("`{shown}/` holds no run other than the baseline")))?;
    RunFolder::from_dir(run).map_err(|error| refused(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::as_recorded_now;

    #[test]
    fn the_baseline_itself_is_not_the_newest_run() {
        let temp = tempfile::tempdir().unwrap();
        let runs = ["one-cpu", "wrong-level"].map(|name| as_recorded_now(name, &temp));
        for (baseline, other) in [(&runs[0], &runs[1]), (&runs[1], &runs[0])] {
            assert_eq!(newest_run(temp.path(), baseline).unwrap().path(), other);
        }
        std::fs::remove_dir_all(&runs[1]).unwrap();
        let error = newest_run(temp.path(), &runs[0]).unwrap_err();
        assert!(error.to_string().contains("holds no run other than the baseline"), "{error}");
    }
}
