//! One trial as template data.

use assay_verdict::{Cause, Check, PromiseJudgement, TrialJudgement};
use serde::Serialize;

use super::{Fact, knobs, memory_table, numastat, queues, shares, waiting, workloads};
use crate::error::Error;
use crate::figure::{self, Figure};
use crate::number;
use crate::trial::Trial;
use crate::wording;

/// One trial.
#[derive(Serialize)]
pub(super) struct TrialView<'t> {
    anchor: String,
    number: usize,
    factors: String,
    short: String,
    verdict: &'static str,
    mark: &'static str,
    /// Warnings to read before any number: why it is void, what went wrong.
    warnings: Vec<String>,
    promises: Vec<PromiseView>,
    window: Vec<Fact>,
    /// Whether memory limits were reached, if there are any.
    limit: Option<String>,
    outcome: Vec<Figure>,
    waiting: waiting::Waiting,
    checks: Vec<Check>,
    /// Facts shown next to the numbers.
    facts: Vec<assay_verdict::Fact>,
    failed_checks: usize,
    knobs: knobs::Knobs,
    queues: Vec<queues::QueueView>,
    has_disk: bool,
    memory: memory_table::MemoryTable,
    numastat: numastat::Numastat,
    machine: Vec<Figure>,
    workloads: workloads::Workloads<'t>,
}

/// One promise with its numbers.
#[derive(Serialize)]
struct PromiseView {
    text: String,
    verdict: &'static str,
    mark: &'static str,
    reason: String,
    needs: Option<String>,
    numbers: Vec<Fact>,
    shares: shares::Shares,
    /// Why some promises differ from what the weights alone would give.
    note: Option<String>,
    causes: Vec<Cause>,
}

impl<'t> TrialView<'t> {
    pub(super) fn new(trial: &Trial<'t>) -> Result<Self, Error> {
        let judged = trial.judgement;
        let promises = judged.map_or_else(Vec::new, |judged| {
            judged.promises.iter().map(|p| PromiseView::new(trial, judged, p)).collect()
        });
        let checks = judged.map_or_else(Vec::new, |judged| judged.validity.clone());
        Ok(Self {
            anchor: format!("trial-{}", trial.number),
            number: trial.number,
            factors: wording::factors(&trial.record.factors),
            short: trial.short.clone(),
            verdict: trial.word().0,
            mark: trial.word().1,
            warnings: warnings(trial),
            promises,
            window: window(trial),
            limit: judged.and_then(wording::limit_on_memory).map(str::to_owned),
            outcome: figure::outcome(trial)?,
            waiting: waiting::Waiting::new(trial)?,
            failed_checks: checks.iter().filter(|check| !check.ok).count(),
            checks,
            facts: judged.map_or_else(Vec::new, |judged| judged.facts.clone()),
            knobs: knobs::Knobs::new(trial),
            queues: queues::queues(trial),
            has_disk: !trial.record.disks.is_empty(),
            memory: memory_table::MemoryTable::new(trial),
            numastat: numastat::Numastat::new(trial),
            machine: figure::machine(trial)?,
            workloads: workloads::Workloads::new(trial),
        })
    }
}

impl PromiseView {
    fn new(trial: &Trial<'_>, judged: &TrialJudgement, promise: &PromiseJudgement) -> Self {
        Self {
            text: wording::unbroken(&wording::promise(promise)),
            verdict: wording::verdict(promise.verdict),
            mark: wording::mark(promise.verdict),
            reason: wording::unbroken(&wording::sentence(&promise.reason)),
            needs: wording::needs(promise, judged.window_s),
            numbers: numbers(promise),
            shares: shares::Shares::new(trial, promise),
            note: wording::feasible(judged, promise).map(wording::sentence),
            causes: promise.causes.clone(),
        }
    }
}

fn numbers(promise: &PromiseJudgement) -> Vec<Fact> {
    let mut numbers = Vec::new();
    if let Some(worst) = wording::worst_error(promise) {
        numbers.push(Fact::new("Worst error", worst));
    }
    if let Some(total) = wording::total_rate(promise) {
        numbers.push(Fact::new("Total", total));
    }
    if let Some(jain) = promise.jain {
        numbers.push(Fact::new("Weighted Jain index", number::fixed(jain, 4)));
    }
    if let Some(spans) = wording::worst_spans(promise, promise.groups.len()) {
        numbers.push(Fact::new("Single spans", spans));
    }
    numbers
}

/// The window and the repeats behind the numbers of the trial.
fn window(trial: &Trial<'_>) -> Vec<Fact> {
    let Some(judged) = trial.judgement else { return vec![] };
    vec![
        Fact::new("Window judged", number::seconds(judged.window_s)),
        Fact::new("Repeats", format!("{} of {}", judged.repeats, trial.record.repeats.len())),
        Fact::new("Warm-up cut", number::seconds(judged.warm_up_s)),
        Fact::new("Cost of sampling", cores(judged.observer_cpu)),
    ]
}

fn cores(cores: f64) -> String {
    format!("{} % of one CPU", number::percent(cores, 2))
}

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
    for (index, repeat) in trial.record.repeats.iter().enumerate() {
        if let Some(fault) = &repeat.fault {
            let message = wording::sentence(&fault.message);
            warnings.push(format!("Repeat {} ({}): {message}", index + 1, fault.kind));
        }
    }
    warnings
}
