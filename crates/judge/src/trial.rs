//! One trial: its repeats, checks and promises.

use assay_record::run_folder::{Manifest, RepeatRecord, Table, TrialRecord};
use assay_record::terms::Measure;

use crate::repeat::Repeat;
use crate::subject::Subject;
use crate::trial_value::{TrialValues, ValueRequest};
use crate::verdict::{TrialJudgement, Verdict};
use crate::{FindCauses, promise, workload_metrics};

/// Judges one combination of factors, and collects the values needed by comparisons with other
/// trials.
pub(crate) fn judge_trial(
    manifest: &Manifest,
    trial: &TrialRecord,
    samples: &[Vec<Table>],
    requests: &[ValueRequest<'_>],
    (part, causes): (f64, &dyn FindCauses),
) -> (TrialJudgement, Vec<TrialValues>) {
    let also: Vec<Measure> = requests.iter().filter_map(ValueRequest::sampled).collect();
    let mut subject = Subject::new(manifest, trial, samples, &also);
    (subject.part, subject.causes) = (part, causes);
    let repeats = &subject.repeats;
    let records: Vec<_> = repeats.iter().map(|repeat| repeat.record).collect();
    let judged: Vec<_> =
        trial.promises.iter().map(|promise| promise::judge_promise(&subject, promise)).collect();
    let found = requests.iter().map(|requests| requests.find(&subject)).collect();
    let judgement = TrialJudgement {
        factors: trial.factors.clone(),
        verdict: Verdict::worst(judged.iter().map(|promise| promise.verdict)),
        repeats: subject.counted,
        promises: judged,
        window_s: repeats.iter().map(Repeat::window_s).sum(),
        warm_up_s: repeats.iter().map(|repeat| repeat.warm_up_s).fold(0.0, f64::max),
        observer_cpu: observer_cpu(repeats),
        workloads: workload_metrics::figures(trial, &records),
        validity: subject.checks.iter().map(|validity| validity.check.clone()).collect(),
        facts: subject.facts.clone(),
        rounds: repeats.iter().map(Repeat::round).collect(),
    };
    (judgement, found)
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
