//! Comparing recorded runs, and levels within one.

mod newest;

use std::path::Path;

use assay_judge::compare::{Side, Terms, compare_levels, compare_runs};
use assay_judge::verdict::RunComparison;
use assay_record::run_folder::{Run, RunFolder};
use assay_run::observer::Observer;
use assay_run::recorded_run::{open_run, read_run};
use assay_sys::exit::Error;

pub use newest::newest_run;

/// Compares two runs.
///
/// # Errors
/// One of the folders holds no run that this version can read.
pub fn compare(
    a: &Path,
    b: &Path,
    terms: &Terms,
    observer: &mut dyn Observer,
) -> Result<RunComparison, Error> {
    let (_, run_a) = open_run(a, observer)?;
    let (_, run_b) = open_run(b, observer)?;
    Ok(between((a, &run_a), (b, &run_b), terms))
}

/// Compares the run of an open folder with a baseline; its path may have changed since it was opened.
///
/// # Errors
/// As [`compare`].
pub fn compare_with_baseline(
    baseline: &Path,
    run: &RunFolder,
    terms: &Terms,
    observer: &mut dyn Observer,
) -> Result<RunComparison, Error> {
    let (_, baseline_run) = open_run(baseline, observer)?;
    let new_run = read_run(run, observer)?;
    Ok(between((baseline, &baseline_run), (run.path(), &new_run), terms))
}

/// Compares two levels of a factor of one run; `levels` names them if the factor has more.
///
/// # Errors
/// As [`compare`]; the run has no such factor or levels.
pub fn compare_levels_of(
    run: &Path,
    factor: &str,
    levels: &[String],
    terms: &Terms,
    observer: &mut dyn Observer,
) -> Result<RunComparison, Error> {
    let (_, recorded) = open_run(run, observer)?;
    let name = run.display().to_string();
    compare_levels(&side(&name, &recorded), factor, levels, terms).map_err(usage)
}

fn between(a: (&Path, &Run), b: (&Path, &Run), terms: &Terms) -> RunComparison {
    let (name_a, name_b) = (a.0.display().to_string(), b.0.display().to_string());
    compare_runs(&side(&name_a, a.1), &side(&name_b, b.1), terms)
}

fn side<'r>(name: &'r str, run: &'r Run) -> Side<'r> {
    Side { name, manifest: &run.manifest, samples: &run.samples }
}

/// A usage error of a comparison.
fn usage(why: impl std::fmt::Display) -> Error {
    Error::usage(format!("{why}\n  hint: `assay compare --help` shows the ways to call it"))
}
