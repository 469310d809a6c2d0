//! Opens a recorded run.

use std::path::Path;

use assay_record::run_folder::{Run, RunFolder, runs, unlisted_samples};
use assay_sys::exit::Error;
use assay_sys::files::Dir;

use crate::observer::Observer;

/// File name of a run's report.
pub const REPORT: &str = "report.html";

/// Opens and reads a recorded run.
///
/// # Errors
/// The folder holds no run that this version can read.
pub fn open_run(path: &Path, observer: &mut dyn Observer) -> Result<(RunFolder, Run), Error> {
    let folder = RunFolder::open(path).map_err(|mut error| {
        error.hint = newest_below(path).or(error.hint);
        Error::usage(error)
    })?;
    let run = read_run(&folder, observer)?;
    Ok((folder, run))
}

/// What to name instead of a folder of runs.
fn newest_below(path: &Path) -> Option<String> {
    // Names begin with the time.
    let newest = runs(&Dir::open(path).ok()?).ok()?.pop()?;
    Some(format!("it holds runs: name one of them, such as {}", path.join(newest).display()))
}

/// Reads the run in an open folder; the observer learns which samples are left out.
///
/// # Errors
/// As [`open_run`].
pub fn read_run(folder: &RunFolder, observer: &mut dyn Observer) -> Result<Run, Error> {
    let run = Run::from_folder(folder).map_err(Error::usage)?;
    for name in unlisted_samples(folder, &run.manifest).unwrap_or_default() {
        observer.message(&format!(
            "note: samples/{name} belongs to no finished repeat and is left out: the repeat is still \
             running, or the run was killed"
        ));
    }
    Ok(run)
}
