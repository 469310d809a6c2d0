//! C-DEMAND: proven by the requests that a group kept outstanding, as the kernel counted them.

use assay_terms::Measure;
use assay_verdict::wording::percent;

use super::rules::{Case, EXPLAINS, Finding, NEGLIGIBLE, Rule};

pub(super) const RULE: Rule = Rule {
    code: "C-DEMAND",
    summary: "a group requested less than it was promised, and weights cannot give it more",
    proof: "By the time that its requests took from the wish for a place to the completion, each group that lost kept fewer requests outstanding than it was to, by the margin, while its threads hardly waited for a CPU or for a place in the pool: only of a void promise, whose own check of demand failed. Of a broken one it contributes at most, since merged and held bios are in no sum.",
    excluded: "The requests that were not outstanding, as parts of what each group was to keep and up to what each loser lacks, are less than a tenth of all their losses, or of the margin.",
    concerns: Measure::is_io,
    examine,
};

fn examine(case: &Case<'_>) -> Option<Finding> {
    let disk = case.measured.disk.as_ref().ok()?;
    let depths = case.depths.as_ref()?;
    let kept = |group: usize| disk.groups[group].whole() / disk.seconds;
    let missing = |group: usize| (1.0 - kept(group) / depths[group]).max(0.0);
    let groups = case.concerned();
    let figures =
        |group: usize| format!("kept {:.2} of {} requests outstanding", kept(group), depths[group]);
    let most = groups.iter().copied().max_by(|a, b| missing(*a).total_cmp(&missing(*b)))?;
    let mut shown = groups.clone();
    shown.sort_by(|a, b| missing(*b).total_cmp(&missing(*a)));
    let mut evidence = case.list(&shown, figures);
    let waited = cpu_wait(case, most);
    if let Some(waited) = waited {
        let name = &case.names[most];
        evidence +=
            &format!("; threads of `{name}` waited {} of their time for a CPU", percent(waited));
    }
    let explained = case.explained(missing);
    // Without a CPU a group cannot request anything, nor while its thread waits for a place: that is no lack of
    // demand.
    let little = NEGLIGIBLE.max(missing(most) * (1.0 - EXPLAINS));
    let of_its_own = waited.is_some_and(|waited| waited <= little)
        && groups.iter().all(|group| disk.groups[*group].in_front() <= little * disk.seconds)
        // Merged bios, those that `io.max` holds back and requests that still wait at the end are in no sum: only where
        // the check of the workload's own latency and rate failed as well is little outstanding little wanted.
        && case.disturbed;
    Some(Finding::new(explained, of_its_own, evidence))
}

/// The part of its threads' time that a group waited for a CPU; `None` where it is not known.
fn cpu_wait(case: &Case<'_>, group: usize) -> Option<f64> {
    let waits = case.measured.cpu.as_ref().ok()?;
    let threads = case.threads.as_ref()?;
    Some(waits[group].waited / (threads[group] * waits[group].seconds))
}
