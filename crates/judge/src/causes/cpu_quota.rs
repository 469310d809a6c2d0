//! C-CPU-QUOTA: proven by waiting while the quota of a group, or of one above it, was used up.

use assay_terms::Measure;
use assay_verdict::wording::percent;

use super::per_cpu::{PerCpu, Without};
use super::rules::{Case, Finding, Rule};

pub(super) const RULE: Rule = Rule {
    code: "C-CPU-QUOTA",
    summary: "a CPU quota bound, so that it and not the weights decided",
    proof: "Threads waited while a quota was used up; weights kept on each CPU, without the threads that it held back, give three quarters of the errors; and a quarter or less is left of them without quotas. Of a void promise: a quota held the threads of some group back during more of their time than the margin.",
    excluded: "No thread waited for a quota, or the errors are the same without, or it was less than a tenth of the margin.",
    concerns: Measure::is_cpu,
    examine,
};

fn examine(case: &Case<'_>) -> Option<Finding> {
    let waits = case.measured.waits_by_class()?;
    let threads = case.threads.as_ref()?;
    let part = |group: usize| waits[group].quota / (threads[group] * waits[group].seconds);
    let held: Vec<usize> = (0..waits.len()).filter(|group| waits[*group].quota > 0.0).collect();
    if held.is_empty() {
        let none = "no thread of any group waited for a quota".to_owned();
        return Some(Finding::excluded(none));
    }
    let evidence = case.list(&held, |group| {
        format!(
            "waited {:.2} s for a quota, {} of its threads' time",
            waits[group].quota,
            percent(part(group))
        )
    });
    match case.disturbed {
        true => Some(Finding::new(case.explained(part), true, evidence)),
        false => PerCpu::new(case)?.judge(case, Without::Quotas, &evidence),
    }
}
