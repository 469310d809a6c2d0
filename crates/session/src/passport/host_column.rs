//! The cases on the running kernel.

use assay_conformance::{Case, CaseRecord, progress};
use assay_host::gather;

use super::parts::parts;
use super::results::{KernelResults, begin_again};
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
    results.of_kernel("host", &gather(&context.root).map_err(Error::host)?.kernel)?;
    for part in parts(cases, &results.settled(), &[]) {
        let request = prepare_conform(context, part, patience)?;
        let mut telling = |case: &Case, record: Option<&CaseRecord>| tell(case, record, &say);
        let finished = assay_conformance::run(&request, &mut telling).map_err(Error::host)?;
        results.add(finished.document.clone()).map_err(begin_again)?;
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

fn tell(case: &Case, record: Option<&CaseRecord>, say: &dyn Fn(&str)) {
    if let Some(text) = progress(case, record) {
        say(&format!("host: {text}"));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use assay_conformance::Verdict;

    use super::*;
    use crate::passport::fake::record;

    #[test]
    fn a_case_that_may_harm_the_host_is_announced() {
        let said = RefCell::new(Vec::new());
        let say = |text: &str| said.borrow_mut().push(text.to_owned());
        let storms = ["cpu/a-storm-of-wakeups-leaves-siblings-the-cpu".to_owned()];
        let storm = assay_conformance::select(&storms).unwrap()[0];
        tell(storm, None, &say);
        tell(storm, Some(&record("a", Verdict::Broken)), &say);
        let said = said.into_inner();
        assert_eq!(said.len(), 2, "{said:?}");
        let warning = storm.warning.unwrap();
        assert!(said[0].starts_with("host: cpu/") && said[0].ends_with(warning), "{said:?}");
        assert!(said[1].starts_with("host: broken"), "{said:?}");
    }
}
