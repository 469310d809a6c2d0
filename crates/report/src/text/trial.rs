//! One trial as text: heading, promises with their groups, failed checks.

use std::collections::BTreeMap;

use assay_run_folder::RepeatRecord;
use assay_verdict::{Check, PromiseJudgement, TrialJudgement, Verdict};

use super::groups;
use super::layout::{columns, wrap};
use super::paint::Paint;
use super::{waiting, workload_metrics};
use crate::number;
use crate::trial::Trial;
use crate::wording;

/// All lines of a trial.
pub(super) fn lines(trial: &Trial<'_>, width: usize, paint: Paint) -> Vec<String> {
    let factors = wording::factors(&trial.record.factors);
    let Some(judged) = trial.judgement else {
        let mut lines = vec![heading(&factors, "not judged", "not judged", width, paint)];
        let reason = wording::sentence(&trial.why_not_judged());
        lines.extend(wrap(&format!("  {reason}"), width, "  "));
        return lines;
    };
    let mut lines =
        judged_lines(&factors, judged, workload_metrics::lines(trial, width, paint), width, paint);
    lines.extend(waiting::lines(trial, width, paint));
    lines.extend(numastat(trial, width));
    lines.extend(sampling(trial, width));
    for (index, repeat) in trial.record.repeats.iter().enumerate() {
        if let Some(fault) = &repeat.fault {
            let text = format!("  repeat {} ({}): {}", index + 1, fault.kind, fault.message);
            lines.extend(wrap(&text, width, "    "));
        }
    }
    lines
}

/// Repeats in which the sampler lost rounds or was late, so that samples are coarser than they
/// seem; other repeats are not listed.
fn sampling(trial: &Trial<'_>, width: usize) -> Vec<String> {
    let repeats = trial.record.repeats.iter().enumerate();
    let disturbed =
        repeats.filter(|(_, repeat)| repeat.sampler.missed > 0 || repeat.sampler.late > 0);
    let line = |(index, repeat): (usize, &RepeatRecord)| {
        let sampler = &repeat.sampler;
        format!(
            "  sampling of repeat {}: {} of {} rounds lost, {} late, the latest by {} ms",
            index + 1,
            sampler.missed,
            sampler.rounds + sampler.missed,
            sampler.late,
            number::fixed(sampler.latest_s * 1e3, 1)
        )
    };
    disturbed.flat_map(|one| wrap(&line(one), width, "    ")).collect()
}

/// Non-zero numastat counters of each node, all repeats together.
fn numastat(trial: &Trial<'_>, width: usize) -> Vec<String> {
    let mut grown: BTreeMap<(u16, &str), u64> = BTreeMap::new();
    let nodes = trial.record.repeats.iter().filter_map(|repeat| repeat.nodes.as_ref());
    for (node, counts) in nodes.flat_map(|nodes| &nodes.numastat) {
        for (name, counted) in counts {
            *grown.entry((*node, name)).or_default() += counted.since();
        }
    }
    let mut ids: Vec<u16> = grown.keys().map(|(node, _)| *node).collect();
    ids.dedup();
    let line = |node: u16| {
        let of_it = grown.iter().filter(|((of, _), _)| *of == node);
        let parts: Vec<String> =
            of_it.map(|((_, name), pages)| format!("{name} +{pages}")).collect();
        format!("  numastat of node {node}, pages: {}", parts.join(", "))
    };
    // With a single node the counters say nothing.
    match ids.len() {
        0 | 1 => Vec::new(),
        _ => ids.into_iter().flat_map(|node| wrap(&line(node), width, "    ")).collect(),
    }
}

/// All lines of a judgement under a heading; `workloads` are the lines of workload metrics.
pub(super) fn judged_lines(
    title: &str,
    judged: &TrialJudgement,
    workloads: Vec<String>,
    width: usize,
    paint: Paint,
) -> Vec<String> {
    let word = match judged.promises.is_empty() {
        true => "no promise for this trial".to_owned(),
        false => wording::marked(judged.verdict),
    };
    let painted = paint.verdict(judged.verdict, &word);
    let mut lines = vec![heading(title, &word, &painted, width, paint)];
    for promise in &judged.promises {
        lines.extend(promise_lines(judged, promise, width, paint));
    }
    if judged.promises.is_empty() {
        lines.push(format!("  {}", wording::trial_reason(judged)));
    }
    if let Some(limit) = wording::limit_on_memory(judged) {
        lines.extend(wrap(&format!("  memory limit: {limit}"), width, "    "));
    }
    lines.extend(workloads);
    lines.extend(checks(judged, width, paint));
    if let Some(text) = other_load(judged.verdict, &judged.validity) {
        lines.extend(wrap(&format!("  other load: {text}"), width, "    "));
    }
    lines
}

/// CPU time used by other processes, if that may be why nothing was decided. The check holds:
/// others take from all groups alike on a single CPU, and leave less data to judge by.
fn other_load(verdict: Verdict, checks: &[Check]) -> Option<&str> {
    let others = checks.iter().find(|check| check.check == "others" && check.ok)?;
    (verdict == Verdict::Undecided).then_some(others.evidence.as_str())
}

/// A heading: factors at the left, the verdict at the right, a line in between.
pub(super) fn heading(
    factors: &str,
    word: &str,
    painted: &str,
    width: usize,
    paint: Paint,
) -> String {
    let used = columns(factors) + columns(word) + 2;
    let line = "\u{2500}".repeat(width.min(100).saturating_sub(used).max(2));
    format!("{} {} {painted}", paint.bold(factors), paint.faint(&line))
}

fn promise_lines(
    judged: &TrialJudgement,
    promise: &PromiseJudgement,
    width: usize,
    paint: Paint,
) -> Vec<String> {
    let mut text = format!("  {}", wording::promise(promise));
    if judged.promises.len() > 1 {
        text.push_str(&format!(": {}", wording::verdict(promise.verdict)));
    }
    let mut lines = wrap(&text, width, "    ");
    lines.extend(wrap(&format!("  {}", wording::sentence(&promise.reason)), width, "  "));
    if let Some(note) = wording::feasible(judged, promise) {
        lines.extend(wrap(&format!("  note: {note}"), width, "  "));
    }
    let groups = groups::lines(promise, width, paint);
    if !groups.is_empty() {
        lines.push(String::new());
        lines.extend(groups);
        lines.push(String::new());
    }
    lines.extend(wrap(&format!("  {}", numbers(judged, promise)), width, "  "));
    if let Some(needs) = wording::needs(promise, judged.window_s) {
        lines.extend(wrap(&format!("  {needs}"), width, "  "));
    }
    for cause in &promise.causes {
        let text = format!("  cause {}: {}", cause.code, cause.summary);
        lines.extend(wrap(&text, width, "    "));
        // The evidence of a failed check is the reason of a void promise.
        for evidence in cause.evidence.iter().filter(|one| !promise.reason.contains(one.as_str())) {
            lines.extend(wrap(&format!("    - {evidence}"), width, "      "));
        }
    }
    lines
}

/// The numbers of a promise, always with the window and the repeats behind them.
fn numbers(judged: &TrialJudgement, promise: &PromiseJudgement) -> String {
    let mut parts = Vec::new();
    parts.extend(wording::worst_error(promise).map(|worst| format!("worst error {worst}")));
    if let Some(total) = wording::total_rate(promise) {
        parts.push(format!("total {total}"));
    }
    if let Some(jain) = promise.jain {
        parts.push(format!("Jain {}", number::fixed(jain, 4)));
    }
    parts.push(format!(
        "window {} in {}, warm-up {} cut",
        number::seconds(judged.window_s),
        wording::count(judged.repeats, "repeat"),
        number::seconds(judged.warm_up_s)
    ));
    parts.extend(wording::worst_spans(promise, 1));
    // Nothing was sampled of numbers that were measured elsewhere.
    if judged.observer_cpu > 0.0 {
        parts.push(format!("sampling {} % of a CPU", number::percent(judged.observer_cpu, 2)));
    }
    parts.join("; ")
}

fn checks(judged: &TrialJudgement, width: usize, paint: Paint) -> Vec<String> {
    let failed: Vec<_> = judged.validity.iter().filter(|check| !check.ok).collect();
    if failed.is_empty() {
        let all = wording::count(judged.validity.len(), "check");
        return if judged.validity.is_empty() {
            vec!["  no validity checks".to_owned()]
        } else {
            vec![format!("  {}: all hold", all)]
        };
    }
    let mut lines = Vec::new();
    for check in failed {
        let is_said = |promise: &PromiseJudgement| promise.reason.contains(&check.evidence);
        let evidence = match judged.promises.iter().any(is_said) {
            true => "see above",
            false => &check.evidence,
        };
        let text = format!("  check {} failed: {evidence}", check.check);
        let mut wrapped = wrap(&text, width, "    ").into_iter();
        lines.extend(wrapped.next().map(|line| paint.bad(&line)));
        lines.extend(wrapped);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecided_trial_shows_cpu_time_of_other_processes() {
        let check = |name: &str, ok| Check {
            check: name.to_owned(),
            ok,
            evidence: format!("what {name} used"),
        };
        let checks = [check("start", true), check("others", true)];
        assert_eq!(other_load(Verdict::Undecided, &checks), Some("what others used"));
        assert_eq!(other_load(Verdict::Kept, &checks), None);
        assert_eq!(other_load(Verdict::Undecided, &checks[..1]), None);
        // A failed check is shown as such.
        assert_eq!(other_load(Verdict::Undecided, &[check("others", false)]), None);
    }
}
