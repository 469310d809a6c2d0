//! One trial: on a page all about it, on a terminal what to know first.

use std::collections::BTreeMap;

use assay_judge::verdict::{Check, PromiseJudgement, TrialJudgement, Verdict};
use assay_record::run_folder::Manifest;
use assay_sys::escape::page::{Part, Parts, Rows, Section, Tag, Tone};

use super::{knobs, memory, shares, waiting, workloads};
use crate::trial::Trial;
use crate::{figure, number, wording};

/// At most so many groups with their worst spans.
const MAX_SPANS: usize = 2;

/// The section of a page. What passed is folded to a line. `is_only` if the head of the page has its verdict and its
/// picture.
pub(super) fn section(trial: &Trial<'_>, is_only: bool) -> Section {
    let promises = trial.judgement.map_or(&[][..], |judged| &judged.promises);
    let factors = wording::factors(&trial.record.factors);
    let heading = if is_only { "Result" } else { &factors };
    let section = Section::new(trial.section(), heading, |page| {
        let class = if trial.is_void() { "note void" } else { "note warning" };
        warnings(trial, is_only).into_iter().for_each(|warning| page.styled(class, warning));
        if !is_only || promises.len() > 1 {
            promises.iter().for_each(|promise| promised(trial, promise, page));
            page.figures(figure::picture(trial).into_iter().filter(|_| !is_only).collect());
        }
        for promise in promises {
            numbers_and_causes(trial, promise, promises.len() > 1, page);
        }
        if let Some(judged) = trial.judgement {
            window(trial, judged, &factors, page);
        }
        page.figures(figure::over_time(trial));
        let shown = |page: &mut Parts| waiting::section(trial, page);
        optional("Where the time went", trial.verdict() != Some(Verdict::Kept), shown, page);
        let more = |page: &mut Parts| page.figures(figure::more(trial));
        optional("More measures of each group", promises.is_empty(), more, page);
        checks(trial, page);
        knobs::section(trial, page);
        let has_disk = !trial.record.disks.is_empty();
        let what = if has_disk { "The disk and the CPUs" } else { "The CPUs" };
        let machine = |page: &mut Parts| {
            if has_disk {
                knobs::queues(trial, page);
            }
            page.figures(figure::machine(trial));
            memory::section(trial, page);
        };
        optional(&format!("{what} during the trial"), false, machine, page);
        workloads::section(trial, page);
    });
    match is_only {
        true => section,
        false => section.listed(trial.short.as_str()).tagged(trial.tag()),
    }
}

/// What a page shows when it is asked for, unless there is nothing.
fn optional(summary: &str, open: bool, fill: impl FnOnce(&mut Parts), page: &mut Parts) {
    let inside = Parts::of(fill);
    let is_empty = |part: &Part| matches!(part, Part::Figures(figures) if figures.is_empty());
    if !inside.0.iter().all(is_empty) {
        page.0.push(Part::Fold(summary.to_owned(), open, inside));
    }
}

/// One promise with its reason.
fn promised(trial: &Trial<'_>, promise: &PromiseJudgement, page: &mut Parts) {
    let tag = wording::tag(promise.verdict);
    let inside = Parts::of(|page| {
        page.tagged("says", wording::promise(promise), Some(tag.clone()));
        page.styled("reason", wording::sentence(&promise.reason));
        wording::needs(promise, trial.run)
            .into_iter()
            .for_each(|needs| page.styled("needs", needs));
    });
    page.0.push(Part::Box(tag.tone, inside));
}

/// The window and the repeats behind the numbers of the trial, whether memory limits were reached, and how complete samples are.
fn window(trial: &Trial<'_>, judged: &TrialJudgement, factors: &str, page: &mut Parts) {
    page.facts([
        ("Trial", factors.to_owned()),
        ("Window judged", number::seconds(judged.window_s)),
        ("Repeats", format!("{} of {}", judged.repeats, trial.record.repeats.len())),
        ("Warm-up cut", number::seconds(judged.warm_up_s)),
        ("Cost of sampling", format!("{} % of one CPU", number::percent(judged.observer_cpu, 2))),
    ]);
    if let Some(limit) = wording::limit_on_memory(judged) {
        page.styled("note", format!("Memory limits: {limit}"));
    }
    sampling(trial, page);
}

/// Causes with their evidence, the groups, and numbers of all of them.
fn numbers_and_causes(
    trial: &Trial<'_>,
    promise: &PromiseJudgement,
    several: bool,
    page: &mut Parts,
) {
    if several {
        page.heading("", wording::promise(promise));
    }
    for cause in &promise.causes {
        page.text(format!("Cause: {} `{}`", cause.summary, cause.code));
        page.list(cause.evidence.iter().cloned());
    }
    shares::all(trial, promise, page);
    if let Some(note) = trial.judgement.and_then(|judged| wording::feasible(judged, promise)) {
        page.styled("reading", wording::sentence(note));
    }
    let numbers = [
        (
            "Errors of all groups",
            wording::worst_error(promise).map(|worst| format!("up to {worst}")),
        ),
        ("Single spans", wording::worst_spans(promise, promise.groups.len().min(MAX_SPANS))),
        ("Total", wording::total_rate(promise)),
        ("Weighted Jain index", promise.jain.map(|jain| number::fixed(jain, 4))),
    ];
    page.facts(numbers.into_iter().filter_map(|(name, number)| Some((name, number?))));
}

/// Warnings to read before any number: why it is void, unless the head of the page says it, and what went wrong.
fn warnings(trial: &Trial<'_>, is_only: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    match trial.judgement {
        // Faults are listed below with their repeats.
        None if trial.record.repeats.iter().any(|repeat| repeat.fault.is_some()) => {}
        None => warnings.push(wording::sentence(&trial.why_not_judged())),
        Some(_) if trial.is_void() && is_only => {
            warnings.push("The measurements are shown in grey; they prove nothing.".to_owned());
        }
        Some(judged) if trial.is_void() => warnings.push(format!(
            "Void: {} The measurements are shown in grey; they prove nothing.",
            wording::trial_reason(judged)
        )),
        Some(_) => {}
    }
    warnings.extend(faults(trial).map(|(at, kind, message)| {
        format!("Repeat {at} ({kind}): {}", wording::sentence(message))
    }));
    warnings
}

/// Number, kind and message of each failed repeat.
fn faults<'t>(trial: &Trial<'t>) -> impl Iterator<Item = (usize, &'t str, &'t str)> {
    let repeats = trial.record.repeats.iter().enumerate();
    repeats.filter_map(|(index, repeat)| {
        let fault = repeat.fault.as_ref()?;
        Some((index + 1, fault.kind.as_str(), fault.message.as_str()))
    })
}

fn checks(trial: &Trial<'_>, page: &mut Parts) {
    let Some(judged) = trial.judgement else { return page.missing("this trial was not judged") };
    let checks = &judged.validity;
    let (failed, others): (Vec<&Check>, Vec<&Check>) = checks.iter().partition(|check| !check.ok);
    let table = |page: &mut Parts, checks: &[&Check]| {
        page.table(
            Rows::new(checks)
                .left("check", 0, |check| format!("`{}`", check.check))
                .left("result", 0, |check| holds(check))
                .prose("evidence", |check| check.evidence.clone()),
        );
    };
    if !failed.is_empty() {
        table(page, &failed);
    }
    page.fold(format!("Validity checks: {}", counted(checks)), false, |page| {
        table(page, &others);
        if !judged.facts.is_empty() {
            let facts = Rows::new(&judged.facts).left("fact", 0, |fact| format!("`{}`", fact.fact));
            page.table(facts.prose("evidence", |fact| fact.evidence.clone()));
        }
    });
}

/// `11 passed, 2 not checked`.
fn counted(checks: &[Check]) -> String {
    let tags: Vec<Tag> = checks.iter().map(holds).collect();
    let counted = ["passed", "failed", "not checked"].into_iter().filter_map(|word| {
        let count = tags.iter().filter(|tag| tag.word == word).count();
        (count > 0).then(|| format!("{count} {word}"))
    });
    let counted = counted.collect::<Vec<_>>().join(", ");
    if counted.is_empty() { "none".to_owned() } else { counted }
}

/// The result of a check in a word. One whose numbers are missing did not fail, and did not pass either.
fn holds(check: &Check) -> Tag {
    match (check.ok, check.evidence.starts_with("not available: ")) {
        (true, true) => Tag::new(Tone::Void, "", "not checked"),
        (true, false) => Tag::new(Tone::Good, "\u{2713}", "passed"),
        (false, _) => Tag::new(Tone::Bad, "\u{2717}", "failed"),
    }
}

/// The section of a terminal.
pub(super) fn brief(trial: &Trial<'_>) -> Section {
    let factors = wording::factors(&trial.record.factors);
    let Some(judged) = trial.judgement else {
        let why = wording::sentence(&trial.why_not_judged());
        return Section::new("", factors, |page| page.styled("reason", why)).tagged(trial.tag());
    };
    let tag = match judged.promises.is_empty() {
        true => Tag::new(wording::tone(judged.verdict), "", "no promise for this trial"),
        false => wording::tag(judged.verdict),
    };
    let section = Section::new("", factors, |page| {
        judged.promises.iter().for_each(|promise| promise_lines(judged, promise, trial.run, page));
        if judged.promises.is_empty() {
            page.text(wording::trial_reason(judged));
        }
        if let Some(limit) = wording::limit_on_memory(judged) {
            page.text(format!("memory limit: {limit}"));
        }
        workloads::brief(trial, page);
        failed_checks(judged, page);
        if let Some(text) = other_load(judged.verdict, &judged.validity) {
            page.text(format!("other load: {text}"));
        }
        waiting::brief(trial, page);
        numastat(trial, page);
        sampling(trial, page);
        for (at, kind, message) in faults(trial) {
            page.text(format!("repeat {at} ({kind}): {message}"));
        }
    });
    section.tagged(tag)
}

fn promise_lines(
    judged: &TrialJudgement,
    promise: &PromiseJudgement,
    run: &Manifest,
    page: &mut Parts,
) {
    let several = (judged.promises.len() > 1).then(|| wording::tag(promise.verdict));
    page.tagged("", wording::promise(promise), several);
    page.styled("reason", wording::sentence(&promise.reason));
    if let Some(note) = wording::feasible(judged, promise) {
        page.styled("reason", format!("note: {note}"));
    }
    shares::brief(promise, page);
    page.styled("needs", numbers(judged, promise));
    wording::needs(promise, run).into_iter().for_each(|needs| page.styled("needs", needs));
    for cause in &promise.causes {
        page.text(format!("cause {}: {}", cause.code, cause.summary));
        // The evidence of a failed check is the reason of a void promise.
        let evidence = cause.evidence.iter().filter(|one| !promise.reason.contains(one.as_str()));
        page.list(evidence.cloned());
    }
}

/// The numbers of a promise, always with the window and the repeats behind them.
fn numbers(judged: &TrialJudgement, promise: &PromiseJudgement) -> String {
    let mut parts = Vec::new();
    parts.extend(wording::worst_error(promise).map(|worst| format!("errors up to {worst}")));
    parts.extend(wording::total_rate(promise).map(|total| format!("total {total}")));
    parts.extend(promise.jain.map(|jain| format!("Jain {}", number::fixed(jain, 4))));
    parts.push(format!(
        "window {} in {}, warm-up {} cut",
        number::seconds(judged.window_s),
        wording::count(judged.repeats, "repeat"),
        number::seconds(judged.warm_up_s)
    ));
    parts.extend(wording::worst_spans(promise, 1));
    // Nothing was sampled where no repeat counts.
    if judged.observer_cpu > 0.0 {
        parts.push(format!("sampling {} % of a CPU", number::percent(judged.observer_cpu, 2)));
    }
    parts.join("; ")
}

fn failed_checks(judged: &TrialJudgement, page: &mut Parts) {
    let mut failed = judged.validity.iter().filter(|check| !check.ok).peekable();
    if failed.peek().is_none() {
        page.text(format!("validity checks: {}", counted(&judged.validity)));
    }
    for check in failed {
        let is_said = |promise: &PromiseJudgement| promise.reason.contains(&check.evidence);
        let evidence = match judged.promises.iter().any(is_said) {
            true => "see above",
            false => &check.evidence,
        };
        page.styled("failed", format!("check {} failed: {evidence}", check.check));
    }
}

/// CPU time used by other processes, if that may be why nothing was decided. The check holds:
/// others take from all groups alike on a single CPU, and leave less data to judge by.
fn other_load(verdict: Verdict, checks: &[Check]) -> Option<&str> {
    let others = checks.iter().find(|check| check.check == "others" && check.ok)?;
    (verdict == Verdict::Undecided).then_some(others.evidence.as_str())
}

/// Repeats in which the sampler lost rounds or was late, so that samples are coarser than they
/// seem; other repeats are not listed.
fn sampling(trial: &Trial<'_>, page: &mut Parts) {
    for (index, repeat) in trial.record.repeats.iter().enumerate() {
        let sampler = &repeat.sampler;
        if sampler.missed > 0 || sampler.late > 0 {
            page.text(format!(
                "sampling of repeat {}: {} of {} rounds lost, {} late, the latest by {} ms",
                index + 1,
                sampler.missed,
                sampler.rounds + sampler.missed,
                sampler.late,
                number::fixed(sampler.latest_s * 1e3, 1)
            ));
        }
    }
}

/// Non-zero numastat counters of each node, all repeats together. With a single node they say nothing.
fn numastat(trial: &Trial<'_>, page: &mut Parts) {
    let mut grown: BTreeMap<u16, BTreeMap<&str, u64>> = BTreeMap::new();
    let nodes = trial.record.repeats.iter().filter_map(|repeat| repeat.nodes.as_ref());
    for (node, counts) in nodes.flat_map(|nodes| &nodes.numastat) {
        for (name, counted) in counts {
            *grown.entry(*node).or_default().entry(name).or_default() += counted.since();
        }
    }
    for (node, counts) in grown.iter().filter(|_| grown.len() > 1) {
        let parts: Vec<String> =
            counts.iter().map(|(name, pages)| format!("{name} +{pages}")).collect();
        page.text(format!("numastat of node {node}, pages: {}", parts.join(", ")));
    }
}
