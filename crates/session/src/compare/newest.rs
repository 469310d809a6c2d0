//! The run to compare with a baseline if none is named.

use std::path::Path;

use assay_run_folder::{RunFolder, summaries};

use super::usage;
use crate::error::Error;

/// The newest run in a folder of runs other than the baseline, open.
///
/// ```
/// use assay_session::{Code, newest_run};
/// let error = newest_run("no/such/folder".as_ref(), "baseline".as_ref()).unwrap_err();
/// assert_eq!(error.code, Code::Usage);
/// ```
///
/// # Errors
/// The folder cannot be read, or holds no other run.
pub fn newest_run(runs: &Path, baseline: &Path) -> Result<RunFolder, Error> {
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
    let (_, run) =
        newest.ok_or_else(|| usage(format!("`{shown}/` holds no run other than the baseline")))?;
    RunFolder::open(&run).map_err(Error::usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay_tests::as_recorded_now;

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
