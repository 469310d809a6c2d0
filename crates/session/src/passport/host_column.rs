//! The cases on the running kernel.

use assay_conformance::{Case, CaseRecord};

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

fn line(kernel: &str, record: &CaseRecord) -> String {
    let CaseRecord { verdict, controller, behaviour, seconds, .. } = record;
    format!("{kernel}: {verdict:<13} {controller}/{behaviour} ({seconds:.1} s)")
}
