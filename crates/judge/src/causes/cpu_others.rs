//! C-CPU-OTHERS: proven by waiting while something else ran than groups of the study.
//!
//! Of a single CPU others take from all groups alike. Of several they take from the groups whose threads are there.

use assay_terms::Measure;
use assay_verdict::ProofState;
use assay_verdict::wording::percent;

use super::per_cpu::{PerCpu, Without};
use super::rules::{Case, Finding, NEGLIGIBLE, Rule};

pub(super) const RULE: Rule = Rule {
    code: "C-CPU-OTHERS",
    summary: "processes outside the groups used the CPUs that the groups were to divide",
    proof: "Threads waited while processes outside of the groups, kernel threads or interrupts ran; weights kept on each CPU, with what these took, give three quarters of the errors; and a quarter or less is left of them without these. Of a void promise: they took more than the margin from the threads of some group.",
    excluded: "The errors are the same without them, and by the host's counters they used hardly any CPU time, less than a tenth of the margin: threads that move away from others hardly wait for them. Of a void promise never.",
    concerns: Measure::is_cpu,
    examine,
};

fn examine(case: &Case<'_>) -> Option<Finding> {
    let waits = case.measured.waits_by_class()?;
    let threads = case.threads.as_ref()?;
    let part = |group: usize| waits[group].foreign_s() / (threads[group] * waits[group].seconds);
    let most = (0..waits.len()).max_by(|a, b| part(*a).total_cmp(&part(*b)))?;
    let culprit = waits[most].foreign.first().map_or("nothing", |(name, _)| name);
    let evidence = format!(
        "threads of `{}` waited {:.2} s while others ran, {} of their time and {} of all their waiting, \
         mostly for {culprit}",
        case.names[most],
        waits[most].foreign_s(),
        percent(part(most)),
        percent(waits[most].foreign_s() / waits[most].waited.max(f64::MIN_POSITIVE)),
    );
    let found = match case.disturbed {
        true => Finding::new(case.explained(part), true, evidence),
        false => PerCpu::new(case)?.judge(case, Without::Others, &evidence)?,
    };
    // Half of the CPUs may be theirs while hardly anyone waits for them: the groups' threads wait elsewhere.
    let used = case.others.unwrap_or(1.0);
    let absent = !case.disturbed && used <= NEGLIGIBLE * case.within;
    Some(found).filter(|found| absent || found.state != ProofState::Excluded)
}
