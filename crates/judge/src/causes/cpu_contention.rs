//! C-CPU: proven by waiting for CPUs of groups that share a disk, and that kept fewer requests outstanding for it.

use assay_terms::Measure;
use assay_verdict::ProofState;
use assay_verdict::wording::percent;

use super::rules::{Case, Explained, Finding, Rule};

pub(super) const RULE: Rule = Rule {
    code: "C-CPU",
    summary: "the CPUs were saturated: they, and not the disk, limited the groups",
    proof: "Threads of each group that lost waited for a CPU, neither for their quota nor while the hypervisor had it, during a part of their time that exceeds the mean of the groups that did not lose by three quarters of what the group lacks; the group had so many requests fewer outstanding, and the others divided the rest by weight. Of a void promise: that part exceeds the margin in some group.",
    excluded: "That part, up to what each loser lacks, is less than a tenth of all their losses. Of a void promise never: the check has seen that the CPUs were saturated, and a kernel thread that fetches the data waits in no group.",
    concerns: Measure::is_io,
    examine,
};

/// A group that waits for CPUs instead of the disk lacks requests, at least this part of what it lacks of its promise.
const DRAINED: f64 = 0.5;

fn examine(case: &Case<'_>) -> Option<Finding> {
    let waits = case.measured.cpu.as_ref().ok()?;
    let threads = case.threads.as_ref()?;
    let part = |group: usize| waits[group].contended() / (threads[group] * waits[group].seconds);
    let drained = case.disturbed || case.rest_is_by_weight() && drained(case).unwrap_or(false);
    let groups = case.concerned();
    // Of a wait of unknown class it is not known whether it was for a quota.
    let by_quota = case.has_throttled && groups.iter().any(|group| waits[*group].is_doubtful);
    let most = groups.iter().copied().max_by(|a, b| part(*a).total_cmp(&part(*b)))?;
    let mut evidence = format!(
        "threads of `{}` waited {:.2} s for a CPU, {} of their time",
        case.names[most],
        waits[most].contended(),
        percent(part(most))
    );
    if let Some((name, time)) = waits[most].foreign.first() {
        let of_all = time / waits[most].contended().max(f64::MIN_POSITIVE);
        evidence += &format!(", {} of it while {name} ran", percent(of_all));
    }
    if case.disturbed {
        let found = Finding::new(case.explained(part), !by_quota, evidence);
        // The check has seen what no group's waiting shows, such as the worker of a loop device that kept a CPU busy.
        return Some(found).filter(|found| found.state != ProofState::Excluded);
    }
    // What all wait for alike moves no share.
    let rest = case.rest();
    let usual = rest.iter().map(|group| part(*group)).sum::<f64>() / rest.len().max(1) as f64;
    let lack = |group: usize| {
        format!("lacks {} and waited {}", percent(case.lack(group)), percent(part(group)))
    };
    evidence += &format!("; {}; the others waited {}", case.list(&groups, lack), percent(usual));
    let beyond = case.explained(|group| (part(group) - usual).max(0.0));
    let explained = Explained { least: beyond.least, ..case.explained(part) };
    Some(Finding::new(explained, drained && !by_quota, evidence))
}

/// Whether all losers kept fewer requests outstanding than they were to; `None` without figures.
fn drained(case: &Case<'_>) -> Option<bool> {
    let disk = case.measured.disk.as_ref().ok()?;
    let depths = case.depths.as_ref()?;
    let kept = |group: usize| disk.groups[group].whole() / disk.seconds / depths[group];
    Some(case.losers().into_iter().all(|group| 1.0 - kept(group) >= DRAINED * case.lack(group)))
}
