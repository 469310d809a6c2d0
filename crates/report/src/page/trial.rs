//! One trial: on a page all about it, on a terminal what to know first.

use std::collections::BTreeMap;

use assay_judge::verdict::{Check, PromiseJudgement, TrialJudgement, Verdict};
use assay_sys::escape::page::{Part, Parts, Rows, Section, Tag, Tone};

use super::{knobs, memory, shares, waiting, workloads};
use crate::trial::Trial;
use crate::{figure, number, wording};

/// The section of a page.
pub(super) fn section(trial: &Trial<'_>) -> Section {
    let promises = trial.judgement.map_or(&[][..], |judged| &judged.promises);
    let several = promises.len() > 1;
    let section = Section::new(trial.section(), wording::factors(&trial.record.factors), |page| {
        let class = if trial.is_void() { "note void" } else { "note warning" };
        warnings(trial).into_iter().for_each(|warning| page.styled(class, warning));
        if let Some(judged) = trial.judgement {
            promises.iter().for_each(|promise| promised(judged, promise, several, page));
            window(trial, judged, page);
        }
        page.heading(trial.anchor("outcome"), "Results of each group");
        page.figures(figure::outcome(trial));
        waiting::section(trial, page);
        for (index, promise) in promises.iter().enumerate() {
            numbers_and_causes(trial, promise, several, index + 1, page);
        }
        checks(trial, page);
        knobs::section(trial, page);
        let has_disk = !trial.record.disks.is_empty();
        let what = if has_disk { "The disk and the CPUs" } else { "The CPUs" };
        page.heading(trial.anchor("machine"), format!("{what} during the trial"));
        if has_disk {
            knobs::queues(trial, page);
        }
        page.figures(figure::machine(trial));
        memory::section(trial, page);
        workloads::section(trial, page);
    });
    section.listed(trial.short.clone()).tagged(trial.tag())
}

/// One promise with its numbers.
fn promised(judged: &TrialJudgement, promise: &PromiseJudgement, several: bool, page: &mut Parts) {
    let tag = wording::tag(promise.verdict);
    let inside = Parts::of(|page| {
        page.tagged("says", wording::promise(promise), several.then(|| tag.clone()));
        page.styled("reason", wording::sentence(&promise.reason));
        wording::needs(promise, judged.window_s)
            .into_iter()
            .for_each(|needs| page.styled("needs", needs));
        let numbers = [
            ("Worst error", wording::worst_error(promise)),
            ("Total", wording::total_rate(promise)),
            ("Weighted Jain index", promise.jain.map(|jain| number::fixed(jain, 4))),
            ("Single spans", wording::worst_spans(promise, promise.groups.len())),
        ];
        page.facts(numbers.into_iter().filter_map(|(name, number)| Some((name, number?))));
    });
    page.0.push(Part::Box(tag.tone, inside));
}

/// The window and the repeats behind the numbers of the trial, and whether memory limits were reached.
fn window(trial: &Trial<'_>, judged: &TrialJudgement, page: &mut Parts) {
    page.facts([
        ("Window judged", number::seconds(judged.window_s)),
        ("Repeats", format!("{} of {}", judged.repeats, trial.record.repeats.len())),
        ("Warm-up cut", number::seconds(judged.warm_up_s)),
        ("Cost of sampling", format!("{} % of one CPU", number::percent(judged.observer_cpu, 2))),
    ]);
    if let Some(limit) = wording::limit_on_memory(judged) {
        page.styled("note", format!("Memory limits: {limit}"));
    }
}

fn numbers_and_causes(
    trial: &Trial<'_>,
    promise: &PromiseJudgement,
    several: bool,
    number: usize,
    page: &mut Parts,
) {
    let of = if several { format!(": {}", wording::promise(promise)) } else { String::new() };
    page.heading(trial.anchor(&format!("shares-{number}")), format!("Shares{of}"));
    shares::all(trial, promise, page);
    if let Some(note) = trial.judgement.and_then(|judged| wording::feasible(judged, promise)) {
        page.styled("reading", wording::sentence(note));
    }
    if !promise.causes.is_empty() {
        page.heading(trial.anchor(&format!("causes-{number}")), "Causes");
    }
    for cause in &promise.causes {
        page.text(format!("{} `{}`", cause.summary, cause.code));
        page.list(cause.evidence.iter().cloned());
    }
}

/// Warnings to read before any number: why it is void, what went wrong.
fn warnings(trial: &Trial<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    match trial.judgement {
        // Faults are listed below with their repeats.
        None if trial.record.repeats.iter().any(|repeat| repeat.fault.is_some()) => {}
        None => warnings.push(wording::sentence(&trial.why_not_judged())),
        Some(judged) if trial.is_void() => warnings.push(format!(
            "Void: {} The measurements are shown in grey below; they prove nothing.",
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
    page.heading(trial.anchor("checks"), "Validity checks");
    let Some(judged) = trial.judgement else { return page.missing("this trial was not judged") };
    let checks = &judged.validity;
    let failed = checks.iter().filter(|check| !check.ok).count();
    if failed > 0 {
        page.text(format!("{failed} of {} checks failed.", checks.len()));
    }
    let holds = |check: &Check| match check.ok {
        true => Tag::new(Tone::Good, "\u{2713}", "yes"),
        false => Tag::new(Tone::Bad, "\u{2717}", "no"),
    };
    page.table(
        Rows::new(checks)
            .left("check", 0, |check| format!("`{}`", check.check))
            .left("holds", 0, holds)
            .prose("evidence", |check| check.evidence.clone()),
    );
    if !judged.facts.is_empty() {
        let facts = Rows::new(&judged.facts).left("fact", 0, |fact| format!("`{}`", fact.fact));
        page.table(facts.prose("evidence", |fact| fact.evidence.clone()));
    }
}

/// The section of a terminal.
pub(super) fn brief(trial: &Trial<'_>) -> Section {
    let factors = wording::factors(&trial.record.factors);
    let Some(of_trial) = trial.judgement else {
        let why = wording::sentence(&trial.why_not_judged());
        return Section::new("", factors, |page| page.styled("reason", why)).tagged(trial.tag());
    };
    let metrics = Parts::of(|page| workloads::brief(trial, page));
    let mut section = judged(&factors, of_trial, metrics);
    let page = &mut section.parts;
    waiting::brief(trial, page);
    numastat(trial, page);
    sampling(trial, page);
    for (at, kind, message) in faults(trial) {
        page.text(format!("repeat {at} ({kind}): {message}"));
    }
    section
}

/// A judgement under a heading, with the metrics of workloads.
pub(super) fn judged(title: &str, judged: &TrialJudgement, metrics: Parts) -> Section {
    let tag = match judged.promises.is_empty() {
        true => Tag::new(wording::tone(judged.verdict), "", "no promise for this trial"),
        false => wording::tag(judged.verdict),
    };
    let section = Section::new("", title, |page| {
        judged.promises.iter().for_each(|promise| promise_lines(judged, promise, page));
        if judged.promises.is_empty() {
            page.text(wording::trial_reason(judged));
        }
        if let Some(limit) = wording::limit_on_memory(judged) {
            page.text(format!("memory limit: {limit}"));
        }
        page.0.extend(metrics.0);
        failed_checks(judged, page);
        if let Some(text) = other_load(judged.verdict, &judged.validity) {
            page.text(format!("other load: {text}"));
        }
    });
    section.tagged(tag)
}

fn promise_lines(judged: &TrialJudgement, promise: &PromiseJudgement, page: &mut Parts) {
    let several = (judged.promises.len() > 1).then(|| wording::tag(promise.verdict));
    page.tagged("", wording::promise(promise), several);
    page.styled("reason", wording::sentence(&promise.reason));
    if let Some(note) = wording::feasible(judged, promise) {
        page.styled("reason", format!("note: {note}"));
    }
    shares::brief(promise, page);
    page.styled("needs", numbers(judged, promise));
    wording::needs(promise, judged.window_s)
        .into_iter()
        .for_each(|needs| page.styled("needs", needs));
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
    parts.extend(wording::worst_error(promise).map(|worst| format!("worst error {worst}")));
    parts.extend(wording::total_rate(promise).map(|total| format!("total {total}")));
    parts.extend(promise.jain.map(|jain| format!("Jain {}", number::fixed(jain, 4))));
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

fn failed_checks(judged: &TrialJudgement, page: &mut Parts) {
    let mut failed = judged.validity.iter().filter(|check| !check.ok).peekable();
    if failed.peek().is_none() {
        page.text(match judged.validity.len() {
            0 => "no validity checks".to_owned(),
            all => format!("{}: all hold", wording::count(all, "check")),
        });
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
