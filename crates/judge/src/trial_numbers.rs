//! The measures of one trial to be compared, repeat by repeat.

use assay_run_folder::{Manifest, RelationRecord};
use assay_stats::Grid;
use assay_stats::batches::Quantity as Estimand;
use assay_terms::Measure;
use assay_verdict::wording::together;

use crate::Samples;
use crate::checks::Scope;
use crate::metric::{self, Metric, Values};
use crate::promise::Subject;
use crate::repeat::Repeat;
use crate::trial::Prepared;
use crate::trial_value::{self, PLAIN};

/// Measures of every comparison, in addition to those with a promise.
const ALWAYS: [Measure; 4] =
    [Measure::IoBytes, Measure::IoIos, Measure::CpuTime, Measure::MemoryCurrent];

/// One measure in one repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatLog {
    /// Which repeat, from 1.
    pub repeat: usize,
    /// The natural logarithm of its value.
    pub log: f64,
}

/// One measure of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialNumber {
    /// `io.bytes`, `reader.read_p99_ns`.
    pub measure: String,
    /// `rate`, `share`, `amount`, `number`.
    pub of: &'static str,
    /// The group, if it is about one.
    pub group: Option<String>,
    /// Whether the study promises something about it, or the user selected it.
    pub decides: bool,
    /// One number per counted repeat, or why there is none.
    pub found: Result<Vec<RepeatLog>, String>,
    /// Where some of these are zero: the same numbers with one unit of the counter in place of zero,
    /// which has no logarithm. A group that got nothing differs from one that was served.
    pub with_zeros: Option<Vec<RepeatLog>>,
    /// Whether a metric was zero in a counted repeat, so that `found` lacks it.
    pub lacks_zeros: bool,
    /// Numbers of repeats that were left out, where available.
    pub left_out: Vec<RepeatLog>,
    /// Unobserved repeats, and why.
    pub unseen: Option<String>,
    /// The part of the error probability available to its intervals: 1 unless the data decided when
    /// the trial ended.
    pub part: f64,
}

/// All quantities of a trial, in display order.
#[must_use]
pub fn of_trial(
    manifest: &Manifest,
    samples: &Samples,
    number: usize,
    selected: &[String],
) -> Vec<TrialNumber> {
    let trial = &manifest.trials[number];
    let samples = samples.get(number).map_or(&[][..], Vec::as_slice);
    // The same windows as in the verdict: measures without a promise must not move them.
    let requests = trial_value::requests_of_run(manifest);
    let prepared = Prepared::new(manifest, trial, samples, &requests);
    let subject = prepared.subject();
    let promised = |measure: &str| {
        trial.promises.iter().any(|promise| promise.measure == measure)
            || manifest.comparisons.iter().any(|promise| promise.measure == measure)
            || selected.iter().any(|selected| selected == measure)
    };
    let mut found = Vec::new();
    for measure in measures(&subject, selected) {
        found.extend(of_samples(&subject, measure, promised(measure.name())));
    }
    for name in metric::comparable(trial) {
        if let Some(metric) = Metric::parse(&name) {
            found.push(of_workloads(&subject, &name, metric, promised(&name)));
        }
    }
    let known: Vec<String> = found.iter().map(|one| one.measure.clone()).collect();
    for name in selected.iter().filter(|name| !known.contains(name)) {
        let why = "neither the samples nor the workloads of this trial have it".to_owned();
        let blank = blank(name, "number", None, true);
        found.push(TrialNumber { found: Err(why), ..blank });
    }
    for one in &mut found {
        one.part = subject.part;
        one.unseen =
            together(subject.unseen.map(str::to_owned).into_iter().chain(one.unseen.take()));
    }
    found
}

fn measures(subject: &Subject<'_>, selected: &[String]) -> Vec<Measure> {
    let promised = subject.trial.promises.iter().map(|promise| promise.measure.as_str());
    let named = promised.chain(selected.iter().map(String::as_str)).filter_map(Measure::parse);
    let mut all: Vec<Measure> = Vec::new();
    for measure in named.chain(ALWAYS) {
        if !all.contains(&measure) {
            all.push(measure);
        }
    }
    all
}

/// The total, each group, and where shares are promised each group's share.
fn of_samples(subject: &Subject<'_>, measure: Measure, decides: bool) -> Vec<TrialNumber> {
    let of = if measure.is_gauge() { "amount" } else { "rate" };
    let name = measure.name();
    let of_shares = subject
        .trial
        .promises
        .iter()
        .find(|promise| promise.measure == name && promise.is.kind().divides());
    let rates = levels(subject, measure, &PLAIN, Estimand::Rate, false);
    let total = levels(subject, measure, &PLAIN, Estimand::Rate, true);
    let mut found = vec![blank(name, of, None, decides).with(&total, 0)];
    for (index, group) in subject.groups.iter().enumerate() {
        let decides = decides && of_shares.is_none();
        found.push(blank(name, of, Some(group), decides).with(&rates, index));
    }
    if let Some(promise) = of_shares {
        let shares = levels(subject, measure, &promise.is, Estimand::Share, false);
        for (index, group) in subject.groups.iter().enumerate() {
            let blank = blank(name, "share", Some(group), decides);
            found.push(blank.with(&shares, index));
        }
    }
    found
}

fn blank(measure: &str, of: &'static str, group: Option<&str>, decides: bool) -> TrialNumber {
    TrialNumber {
        measure: measure.to_owned(),
        of,
        group: group.map(str::to_owned),
        decides,
        found: Ok(Vec::new()),
        with_zeros: None,
        lacks_zeros: false,
        left_out: Vec::new(),
        unseen: None,
        part: 1.0,
    }
}

/// The shares or rates of one repeat.
struct Level {
    repeat: usize,
    of_groups: Vec<f64>,
    /// One unit of the counter: less is not counted.
    unit: f64,
}

impl Level {
    fn log(&self, group: usize) -> RepeatLog {
        RepeatLog { repeat: self.repeat, log: self.of_groups[group].ln() }
    }
}

/// Those of all repeats.
struct Levels {
    counted: Vec<Level>,
    left_out: Vec<Level>,
}

impl TrialNumber {
    /// Fills in the numbers of one group.
    fn with(mut self, levels: &Result<Levels, String>, group: usize) -> Self {
        match levels {
            Err(why) => self.found = Err(why.clone()),
            Ok(levels) => {
                self.found = numbers(&levels.counted, group);
                let at_least_a_unit = |level: &Level| RepeatLog {
                    log: level.of_groups[group].max(level.unit).ln(),
                    ..level.log(group)
                };
                self.with_zeros = self
                    .found
                    .is_err()
                    .then(|| levels.counted.iter().map(at_least_a_unit).collect());
                // Zero has no finite logarithm, and differs from everything.
                self.left_out = levels.left_out.iter().map(|level| level.log(group)).collect();
            }
        }
        self
    }
}

fn levels(
    subject: &Subject<'_>,
    measure: Measure,
    relation: &RelationRecord,
    estimand: Estimand,
    together: bool,
) -> Result<Levels, String> {
    subject.passes(|scope| scope.concerns(measure, relation))?;
    if subject.repeats.is_empty() {
        return Err("no repeat can be judged".to_owned());
    }
    let of = |repeat: &Repeat<'_>| {
        let grid: Grid = repeat.resampled(measure, subject.groups)?;
        let grid = if together { grid.together() } else { grid };
        let whole = estimand.whole(&grid);
        if whole <= 0.0 {
            return Err(format!(
                "the measured groups have a total of zero in repeat {}",
                repeat.number
            ));
        }
        Ok(Level {
            repeat: repeat.number,
            of_groups: grid.totals().iter().map(|total| total / whole).collect(),
            unit: measure.scale() / whole,
        })
    };
    Ok(Levels {
        counted: subject.repeats.iter().map(of).collect::<Result<_, String>>()?,
        left_out: subject.left_out_with_samples().filter_map(|repeat| of(repeat).ok()).collect(),
    })
}

/// The numbers of one group.
fn numbers(repeats: &[Level], group: usize) -> Result<Vec<RepeatLog>, String> {
    let of = |level: &Level| match level.of_groups[group] > 0.0 {
        true => Ok(level.log(group)),
        false => Err(format!("it is zero in repeat {}, so there is no ratio", level.repeat)),
    };
    repeats.iter().map(of).collect()
}

/// Geometric mean over the instances of a workload.
fn of_workloads(
    subject: &Subject<'_>,
    name: &str,
    metric: Metric<'_>,
    decides: bool,
) -> TrialNumber {
    let blank = blank(name, "number", None, decides);
    let of = |repeats: &[Repeat<'_>]| metric.values(subject.trial, repeats, |_| true);
    match subject.passes(|scope| scope == Scope::All).and_then(|()| of(subject.repeats)) {
        Err(why) => TrialNumber { found: Err(why), ..blank },
        Ok(values) => {
            let left_out = subject.left_out_with_samples();
            let left_out = left_out.filter_map(|repeat| {
                metric.with_zeros(subject.trial, std::slice::from_ref(repeat), |_| true).ok()
            });
            TrialNumber {
                found: Ok(means(&values)),
                lacks_zeros: !values.zeros.is_empty(),
                left_out: left_out.flat_map(|values| with_zeros(&values)).collect(),
                // An instance without a number may have been the slowest.
                unseen: together(values.left_out.into_iter()),
                ..blank
            }
        }
    }
}

/// Zero has no finite logarithm, and differs from everything.
fn with_zeros(values: &Values) -> Vec<RepeatLog> {
    let zero = |repeat: usize| RepeatLog { repeat, log: f64::NEG_INFINITY };
    let zeros = values.zeros.iter().map(|(repeat, _)| zero(*repeat));
    means(values).into_iter().chain(zeros).collect()
}

fn means(values: &Values) -> Vec<RepeatLog> {
    values.mean_logs().map(|(repeat, log)| RepeatLog { repeat, log }).collect()
}
