//! Synthetic runs, built from a few numbers: manifest, samples and judgement.

mod judged;
mod manifest;
mod recorded;
mod samples;

use std::collections::BTreeMap;

use assay_judge::verdict::{Judgement, TrialJudgement, Verdict};
use assay_record::run_folder::{Manifest, Table, TrialRecord};

use judged::judged;
use manifest::manifest;
use recorded::trial;
use samples::samples;

/// The input of a report.
pub(crate) struct Run {
    pub(crate) manifest: Manifest,
    pub(crate) judgement: Judgement,
    pub(crate) samples: Vec<Vec<Vec<Table>>>,
}

/// Parameters of a synthetic trial.
pub(crate) struct Shape {
    pub(crate) groups: usize,
    pub(crate) seconds: u64,
    pub(crate) repeats: usize,
    pub(crate) verdict: Verdict,
    /// 0: shares follow the weights. 1: all groups get the same.
    pub(crate) collapse: f64,
    /// Whether the workloads write as well.
    pub(crate) mixed: bool,
}

const SECOND: u64 = 1_000_000_000;
const RATE: f64 = 214e6;
const WARM_UP_S: f64 = 2.1;

/// A kept trial of four groups.
pub(crate) const KEPT: Shape = Shape {
    groups: 4,
    seconds: 20,
    repeats: 3,
    verdict: Verdict::Kept,
    collapse: 0.004,
    mixed: false,
};

/// A run with one trial for each shape.
pub(crate) fn run(shapes: &[Shape]) -> Run {
    let trials: Vec<TrialRecord> = shapes.iter().map(trial).collect();
    let judged: Vec<TrialJudgement> = shapes.iter().map(judged).collect();
    let verdict = [Verdict::Broken, Verdict::Void, Verdict::Undecided]
        .into_iter()
        .find(|verdict| shapes.iter().any(|shape| shape.verdict == *verdict))
        .unwrap_or(Verdict::Kept);
    Run {
        manifest: manifest(trials),
        judgement: Judgement {
            schema: 1,
            study: "io-weight-scaling".to_owned(),
            verdict,
            trials: judged,
            comparisons: Vec::new(),
            references: Vec::new(),
            restored: Some(true),
            guest: None,
            caveat: None,
        },
        samples: shapes.iter().map(samples).collect(),
    }
}

fn weight(index: usize) -> f64 {
    100.0 * f64::from(1 << (index % 4))
}

fn name(index: usize) -> String {
    format!("task{}", index + 1)
}

fn promised(groups: usize, index: usize) -> f64 {
    weight(index) / (0..groups).map(weight).sum::<f64>()
}

/// Deterministic noise: the fractional part of multiples of the golden ratio.
fn noise(seed: usize) -> f64 {
    (seed as f64 * 0.618_033_988_75).fract() - 0.5
}

fn share(shape: &Shape, index: usize) -> f64 {
    let blend = |i: usize| {
        let fair = promised(shape.groups, i);
        let mixed = fair * (1.0 - shape.collapse) + shape.collapse / shape.groups as f64;
        mixed * (1.0 + noise(i + 1) * 0.02)
    };
    blend(index) / (0..shape.groups).map(blend).sum::<f64>()
}

fn factors(shape: &Shape) -> BTreeMap<String, serde_json::Value> {
    BTreeMap::from([("groups".to_owned(), shape.groups.into()), ("iodepth".to_owned(), 32.into())])
}

fn release(repeat: usize) -> u64 {
    (repeat as u64 + 1) * 1_000 * SECOND
}
