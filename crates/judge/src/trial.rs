//! One trial: its repeats, checks and promises.

use assay_run_folder::{Manifest, RelationRecord, RepeatRecord, Table, TrialRecord};
use assay_terms::Measure;
use assay_verdict::{Fact, TrialJudgement, Verdict};

use crate::checks::{self, Entry, Evidence, Selection, ValidityCheck};
use crate::promise;
use crate::queue::is_measured;
use crate::repeat::Repeat;
use crate::subject::Subject;
use crate::trial_value::{PLAIN, TrialValues, ValueRequest};
use crate::{facts, workload_metrics};

/// The rate configured in io.cost.model, if it was always the same
/// (Documentation/admin-guide/cgroup-v2.rst: `rrandiops` is the rate of random reads).
fn configured_iops(manifest: &Manifest) -> Option<f64> {
    let models = manifest.changes.iter().filter(|change| change.what.ends_with("/io.cost.model"));
    let configured: Vec<f64> = models
        .filter_map(|change| {
            let mut words = change.set.as_deref()?.split_whitespace();
            words.find_map(|word| word.strip_prefix("rrandiops="))?.parse().ok()
        })
        .collect();
    configured.first().copied().filter(|first| configured.iter().all(|other| other == first))
}

/// A trial with its windows and checks, the input of all numbers.
pub(crate) struct Prepared<'r> {
    manifest: &'r Manifest,
    trial: &'r TrialRecord,
    groups: Vec<&'r str>,
    /// Number of repeats that count.
    pub(crate) counted: usize,
    repeats: Vec<Repeat<'r>>,
    left_out: Vec<Repeat<'r>>,
    checks: Vec<ValidityCheck>,
    facts: Vec<Fact>,
    unseen: Option<String>,
    /// The part of the errors that bounds may spend.
    pub(crate) part: f64,
}

impl<'r> Prepared<'r> {
    /// Selects the repeats, determines their windows and runs the checks, for the promises of the
    /// trial and for the values needed by comparisons.
    pub(crate) fn new(
        manifest: &'r Manifest,
        trial: &'r TrialRecord,
        samples: &'r [Vec<Table>],
        requests: &[ValueRequest<'_>],
    ) -> Self {
        let measured = trial.groups.iter().filter(|group| is_measured(group));
        let groups: Vec<&str> = measured.map(|group| group.name.as_str()).collect();
        let mut promises: Vec<(Measure, &RelationRecord)> = trial
            .promises
            .iter()
            .filter_map(|promise| Some((Measure::parse(&promise.measure)?, &promise.is)))
            .collect();
        promises.extend(requests.iter().filter_map(|requests| Some((requests.sampled()?, &PLAIN))));
        let mut selection = Selection::new(trial, samples);
        let prepare = |entries: &[Entry<'r>]| prepare(trial, entries, &groups, &promises);
        let repeats = prepare(&selection.judged);
        let base = Evidence {
            host: &manifest.host,
            trial,
            configured_iops: configured_iops(manifest),
            groups: &groups,
            promises: &promises,
            repeats: &[],
        };
        let disturbed = checks::disturbed(&Evidence { repeats: &repeats, ..base });
        selection.leave_out(&disturbed);
        let is_disturbed =
            |repeat: &Repeat<'_>| disturbed.iter().any(|(other, _)| *other == repeat.number);
        let (mut left_out, repeats): (Vec<_>, Vec<_>) = repeats.into_iter().partition(is_disturbed);
        left_out.extend(prepare(&selection.cut_short));
        let evidence = Evidence { repeats: &repeats, ..base };
        let checks = checks::all(&evidence, &selection);
        let facts = facts::all(&evidence);
        let (counted, unseen) = (selection.counted, checks::unseen(manifest, trial));
        Self {
            manifest,
            trial,
            groups,
            counted,
            repeats,
            left_out,
            checks,
            facts,
            unseen,
            part: 1.0,
        }
    }

    /// Inputs of all promises of the trial.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            host: &self.manifest.host,
            configured_iops: configured_iops(self.manifest),
            trial: self.trial,
            groups: &self.groups,
            repeats: &self.repeats,
            left_out: &self.left_out,
            checks: &self.checks,
            part: self.part,
            unseen: self.unseen.as_deref(),
        }
    }
}

/// Judges one combination of factors, and collects the values needed by comparisons with other
/// trials.
pub(crate) fn judge_trial(
    manifest: &Manifest,
    trial: &TrialRecord,
    samples: &[Vec<Table>],
    requests: &[ValueRequest<'_>],
    part: f64,
) -> (TrialJudgement, Vec<TrialValues>) {
    let prepared = Prepared { part, ..Prepared::new(manifest, trial, samples, requests) };
    let subject = prepared.subject();
    let repeats = &prepared.repeats;
    let records: Vec<_> = repeats.iter().map(|repeat| repeat.record).collect();
    let judged: Vec<_> =
        trial.promises.iter().map(|promise| promise::judge_promise(&subject, promise)).collect();
    let found = requests.iter().map(|requests| requests.find(&subject)).collect();
    let judgement = TrialJudgement {
        factors: trial.factors.clone(),
        verdict: Verdict::worst(judged.iter().map(|promise| promise.verdict)),
        repeats: prepared.counted,
        promises: judged,
        window_s: repeats.iter().map(Repeat::window_s).sum(),
        warm_up_s: repeats.iter().map(|repeat| repeat.warm_up_s).fold(0.0, f64::max),
        observer_cpu: observer_cpu(repeats),
        workloads: workload_metrics::figures(trial, &records),
        validity: prepared.checks.iter().map(|validity| validity.check.clone()).collect(),
        facts: prepared.facts.clone(),
        rounds: repeats.iter().map(Repeat::round).collect(),
    };
    (judgement, found)
}

/// Repeats with their windows.
pub(crate) fn prepare<'r>(
    trial: &TrialRecord,
    entries: &[Entry<'r>],
    groups: &[&str],
    promises: &[(Measure, &RelationRecord)],
) -> Vec<Repeat<'r>> {
    let measures = measures(promises);
    let entries = entries.iter();
    entries
        .map(|&(number, record, tables)| {
            Repeat::new(number, trial, record, tables, groups, &measures)
        })
        .collect()
}

/// Each measure once.
fn measures(promises: &[(Measure, &RelationRecord)]) -> Vec<Measure> {
    let mut measures: Vec<Measure> = Vec::new();
    for (measure, _) in promises {
        if !measures.contains(measure) {
            measures.push(*measure);
        }
    }
    measures
}

/// CPU seconds of sampling, of re-reading knobs, of listing processes and of eBPF programs per second, in
/// cores, over all judged repeats.
fn observer_cpu(repeats: &[Repeat<'_>]) -> f64 {
    let beside = |record: &RepeatRecord| {
        let programs = record.evidence.as_ref().and_then(|evidence| evidence.cpu_s);
        record.watch.map_or(0.0, |watch| watch.cpu_s)
            + record.shown_cpu_s.unwrap_or(0.0)
            + programs.unwrap_or(0.0)
    };
    let all = repeats.iter().map(|repeat| repeat.record);
    let spent: f64 = all.map(|record| record.sampler.cpu_s + beside(record)).sum();
    let wall: f64 = repeats.iter().map(|repeat| repeat.record.sampler.wall_s).sum();
    if wall > 0.0 { spent / wall } else { 0.0 }
}
