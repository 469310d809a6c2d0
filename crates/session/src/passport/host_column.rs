//! The cases on the running kernel.

use assay_conformance::{Case, CaseRecord};
use assay_host::gather;

use super::parts::parts;
use super::results::KernelResults;
use super::{Outcome, Say};
use crate::conform::prepare_conform;
use crate::context::Context;
use crate::error::Error;

/// Runs the cases that have no result yet, part by part.
pub(super) fn run(
    context: &Context,
    cases: &[&Case],
    patience: Option<f64>,
    mut results: KernelResults,
    say: Say,
) -> Result<Outcome, Error> {
    // Also where no case is left to run: the column would pass for this kernel's.
    same_release(&results, &gather(&context.root).map_err(Error::host)?.kernel)?;
    for part in parts(cases, &results.settled(), &[]) {
        let request = prepare_conform(context, part, patience)?;
        let mut progress = |_: &Case, record: Option<&CaseRecord>| {
            if let Some(record) = record {
                say(&line("host", record));
            }
        };
        let finished = assay_conformance::run(&request, &mut progress).map_err(Error::host)?;
        results.add(finished.document.clone()).map_err(|why| {
            Error::usage(format!("{why}\n  hint: --fresh begins again, --out names another folder"))
        })?;
        for error in &finished.not_restored {
            say(&format!("error: not restored: {error}"));
        }
        if !finished.document.restored {
            return Ok(Outcome::NotRestored);
        }
        if finished.interrupted.is_some() {
            return Ok(Outcome::Interrupted);
        }
    }
    Ok(Outcome::Done)
}

/// Refuses results of another release, as after an update of the kernel.
fn same_release(results: &KernelResults, running: &str) -> Result<(), Error> {
    match results.release().filter(|known| *known != running) {
        None => Ok(()),
        Some(known) => Err(Error::usage(format!(
            "the results of host are of Linux {known}; this host runs {running}\n  \
             hint: --fresh begins again, --out names another folder"
        ))),
    }
}

fn line(kernel: &str, record: &CaseRecord) -> String {
    let CaseRecord { verdict, controller, behaviour, seconds, .. } = record;
    format!("{kernel}: {verdict:<13} {controller}/{behaviour} ({seconds:.1} s)")
}

#[cfg(test)]
mod tests {
    use assay_conformance::Verdict;
    use assay_files::Dir;

    use super::*;
    use crate::passport::fake::{document, record};

    #[test]
    fn results_from_before_an_update_of_the_kernel_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let kernels = Dir::open(place.path()).unwrap();
        let mut results = KernelResults::open(&kernels, "host".to_owned()).unwrap();
        assert!(same_release(&results, "6.12.1").is_ok(), "nothing is there");
        results.add(document("6.1.0", vec![record("a", Verdict::Kept)])).unwrap();
        assert!(same_release(&results, "6.1.0").is_ok());
        let error = same_release(&results, "6.12.1").unwrap_err().to_string();
        assert!(error.contains("6.1.0") && error.contains("--fresh"), "{error}");
    }
}
