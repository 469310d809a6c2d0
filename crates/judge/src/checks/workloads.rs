//! `workloads`: all workloads of the measured groups ran through the window.

use assay_verdict::wording::{count, some_of};

use super::{Evidence, Finding, Scope, ValidityCheck, each_repeat};
use crate::repeat::Repeat;

/// A failed workload takes its demand away, which changes the shares of all others.
pub(super) fn check(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = each_repeat("workloads", evidence, |repeat| find(evidence, repeat));
    let summary = "a workload of a measured group did not run through the window, so that the \
                   others shared what it left";
    ValidityCheck { check, scope: Scope::All, proves: Some(("C-WORKLOAD", summary)) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut failed = Vec::new();
    let mut ran = 0;
    let measured = evidence.trial.groups.iter().filter(|group| crate::queue::is_measured(group));
    for (group, workload) in
        measured.flat_map(|group| group.workloads.iter().map(move |workload| (group, workload)))
    {
        let result = repeat
            .record
            .workloads
            .iter()
            .find(|result| result.workload == workload.name && result.group == group.name);
        match result.map(|result| &result.failure) {
            Some(None) => ran += 1,
            Some(Some(failure)) => {
                failed.push(format!("`{}` of `{}`: {failure}", workload.name, group.name));
            }
            None => failed.push(format!("`{}` of `{}` left no result", workload.name, group.name)),
        }
    }
    if failed.is_empty() {
        return Finding::new(true, format!("{} ran through the window", count(ran, "workload")));
    }
    Finding::new(false, some_of(&failed, "; "))
}
