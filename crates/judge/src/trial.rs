//! One trial: its repeats, its gates, its promises.

use assay_record::{Manifest, RelationRecord, RepeatRecord, Table, TrialRecord};

use crate::figures;
use crate::gates::{self, Evidence, Selection};
use crate::judgement::{TrialJudgement, Verdict};
use crate::looks;
use crate::measure::Measure;
use crate::promise::{self, Subject};
use crate::queue::is_measured;
use crate::repeat::Repeat;
use crate::statistics::bootstrap::DRAWS;
use crate::wanted::{Found, PLAIN, Wanted};

/// What the run wrote into io.cost.model, if it was always the same (Documentation/admin-guide/
/// cgroup-v2.rst: `rrandiops` is the rate of random reads).
fn told_iops(manifest: &Manifest) -> Option<f64> {
    let models = manifest.changes.iter().filter(|change| change.what.ends_with("/io.cost.model"));
    let told: Vec<f64> = models
        .filter_map(|change| {
            let mut words = change.set.as_deref()?.split_whitespace();
            words.find_map(|word| word.strip_prefix("rrandiops="))?.parse().ok()
        })
        .collect();
    told.first().copied().filter(|first| told.iter().all(|other| other == first))
}

/// Judges one combination of factors, and finds what comparisons with other trials want of it.
pub(crate) fn judge_trial(
    manifest: &Manifest,
    number: usize,
    trial: &TrialRecord,
    samples: &[Vec<Table>],
    wanted: &[Wanted<'_>],
) -> (TrialJudgement, Vec<Found>) {
    let groups: Vec<&str> = trial
        .groups
        .iter()
        .filter(|group| is_measured(group))
        .map(|group| group.name.as_str())
        .collect();
    let mut promises: Vec<(Measure, &RelationRecord)> = trial
        .promises
        .iter()
        .filter_map(|promise| Some((Measure::parse(&promise.measure)?, &promise.is)))
        .collect();
    promises.extend(wanted.iter().filter_map(|wanted| Some((wanted.sampled()?, &PLAIN))));
    let selection = Selection::new(trial, samples);
    let repeats = prepare(trial, &selection, &groups, &promises);
    let evidence = Evidence {
        host: &manifest.host,
        trial,
        told_iops: told_iops(manifest),
        groups: &groups,
        promises: &promises,
        repeats: &repeats,
    };
    let gates = gates::all(&evidence, &selection);
    let subject = Subject {
        seed: manifest.seed,
        number: number as u64,
        host: &manifest.host,
        told_iops: evidence.told_iops,
        trial,
        groups: &groups,
        repeats: &repeats,
        gates: &gates,
        part: looks::part_of(trial),
        draws: DRAWS,
    };
    let records: Vec<_> = repeats.iter().map(|repeat| repeat.record).collect();
    let judged: Vec<_> =
        trial.promises.iter().map(|promise| promise::judge_promise(&subject, promise)).collect();
    let found = wanted.iter().map(|wanted| wanted.find(&subject)).collect();
    let judgement = TrialJudgement {
        factors: trial.factors.clone(),
        verdict: Verdict::worst(judged.iter().map(|promise| promise.verdict)),
        repeats: selection.counted,
        promises: judged,
        window_s: repeats.iter().map(Repeat::window_s).sum(),
        warm_up_s: repeats.iter().map(|repeat| repeat.warm_up_s).fold(0.0, f64::max),
        observer_cpu: observer_cpu(&repeats),
        workloads: figures::figures(trial, &records),
        validity: gates.iter().map(|gate| gate.check.clone()).collect(),
    };
    (judgement, found)
}

fn prepare<'r>(
    trial: &TrialRecord,
    selection: &Selection<'r>,
    groups: &[&str],
    promises: &[(Measure, &RelationRecord)],
) -> Vec<Repeat<'r>> {
    let mut measures: Vec<Measure> = Vec::new();
    for (measure, _) in promises {
        if !measures.contains(measure) {
            measures.push(*measure);
        }
    }
    selection
        .judged
        .iter()
        .map(|&(number, record, tables)| {
            Repeat::new(number, trial, record, tables, groups, &measures)
        })
        .collect()
}

/// CPU seconds of sampling, of reading knobs again and of looking at what there is per second, in
/// cores, over all judged repeats.
fn observer_cpu(repeats: &[Repeat<'_>]) -> f64 {
    let beside = |record: &RepeatRecord| {
        record.watch.map_or(0.0, |watch| watch.cpu_s) + record.shown_cpu_s.unwrap_or(0.0)
    };
    let all = repeats.iter().map(|repeat| repeat.record);
    let spent: f64 = all.map(|record| record.sampler.cpu_s + beside(record)).sum();
    let wall: f64 = repeats.iter().map(|repeat| repeat.record.sampler.wall_s).sum();
    if wall > 0.0 { spent / wall } else { 0.0 }
}
