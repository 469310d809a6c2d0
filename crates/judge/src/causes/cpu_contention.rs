//! C-CPU: proven by waiting for CPUs of groups that share a disk, and that kept fewer requests outstanding for it.

use assay_terms::Measure;
use assay_verdict::wording::percent;

use super::rules::{Case, Finding, Rule};

pub(super) const RULE: Rule = Rule {
    code: "C-CPU",
    summary: "the CPUs were saturated: they, and not the disk, limited the groups",
    proof: "Threads of each group that lost waited for a CPU during a part of their time that is at least three quarters of what the group lacks, the group had so many requests fewer outstanding, and the others divided the rest by weight. Of a void promise: that part exceeds the margin in some group.",
    excluded: "That part is less than a tenth of what some loser lacks, or of the margin.",
    concerns: Measure::is_io,
    examine,
};

/// A group that waits for CPUs instead of the disk lacks requests, at least this part of what it lacks of its promise.
const DRAINED: f64 = 0.5;

fn examine(case: &Case<'_>) -> Option<Finding> {
    let waits = case.measured.cpu.as_ref().ok()?;
    let threads = case.threads.as_ref()?;
    let part = |group: usize| waits[group].waited / (threads[group] * waits[group].seconds);
    let drained = case.disturbed || case.rest_is_by_weight() && drained(case).unwrap_or(false);
    let groups = case.concerned();
    let most = groups.iter().copied().max_by(|a, b| part(*a).total_cmp(&part(*b)))?;
    let mut evidence = format!(
        "threads of `{}` waited {:.2} s for a CPU, {} of their time",
        case.names[most],
        waits[most].waited,
        percent(part(most))
    );
    if let Some((name, time)) = waits[most].foreign.first() {
        let of_all = time / waits[most].waited.max(f64::MIN_POSITIVE);
        evidence += &format!(", {} of it while {name} ran", percent(of_all));
    }
    if !case.disturbed {
        let lack = |group: usize| {
            format!("lacks {} and waited {}", percent(case.lack(group)), percent(part(group)))
        };
        evidence += &format!("; {}", case.list(&groups, lack));
    }
    Some(Finding::new(case.explained(part), drained, evidence))
}

/// Whether all losers kept fewer requests outstanding than they were to; `None` without figures.
fn drained(case: &Case<'_>) -> Option<bool> {
    let disk = case.measured.disk.as_ref().ok()?;
    let depths = case.depths.as_ref()?;
    let kept = |group: usize| disk.groups[group].whole() / disk.seconds / depths[group];
    Some(case.losers().into_iter().all(|group| 1.0 - kept(group) >= DRAINED * case.lack(group)))
}
