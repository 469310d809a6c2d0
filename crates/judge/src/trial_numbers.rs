//! The measures of one trial to be compared, repeat by repeat.

use std::f64::consts::LN_2;

use crate::verdict::wording::together;
use assay_record::run_folder::{Manifest, PlacementRecord, PromiseRecord, RelationRecord};
use assay_record::terms::{Measure, PlacementMeasure};
use assay_stats::Grid;
use assay_stats::resolution::Resolution;
use assay_stats::start::Quantity as Estimand;

use crate::Samples;
use crate::checks::Scope;
use crate::metric::{self, Metric, Values};
use crate::placement::{self, Counted};
use crate::repeat::Repeat;
use crate::subject::{PLAIN, Subject};
use crate::trial_value::measures_of_run;

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
    /// How finely that is known: one unit of the counter, or a bucket of a histogram, as a
    /// logarithm.
    pub grain: f64,
    /// The standard deviation that it has at least, however little the repeats scatter.
    pub least_error: f64,
}

impl RepeatLog {
    /// A number that is known to its last digit.
    #[must_use]
    pub const fn exact(repeat: usize, log: f64) -> Self {
        Self { repeat, log, grain: 0.0, least_error: 0.0 }
    }

    /// Whether it is a single unit, or stands for less.
    #[must_use]
    pub fn is_a_unit(&self) -> bool {
        self.grain >= LN_2
    }
}

/// One measure of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialNumber {
    /// `io.bytes`, `reader.read_p99_ns`.
    pub measure: String,
    /// `rate`, `share`, `amount`, `number`, `in_place`.
    pub of: &'static str,
    /// The group, or of a placement the workload, if it is about one.
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
    let subject = Subject::new(manifest, trial, samples, &measures_of_run(manifest));
    let promised = |measure: &str| {
        trial.promises.iter().any(|promise| promise.measure == measure)
            || manifest.comparisons.iter().any(|promise| promise.measure == measure)
            || selected.iter().any(|selected| selected == measure)
    };
    let mut found = Vec::new();
    for measure in measures(&subject, selected) {
        found.extend(of_samples(&subject, measure, promised(measure.name())));
    }
    for promise in &trial.promises {
        found.extend(placed_numbers(&subject, promise));
    }
    for name in metric::comparable(trial) {
        if let Some(metric) = Metric::parse(&name) {
            found.push(of_workloads(&subject, &name, metric, promised(&name)));
        }
    }
    let mut named: Vec<&str> = selected.iter().map(String::as_str).collect();
    let has_number =
        |is: &RelationRecord| !matches!(is, RelationRecord::Placed | RelationRecord::Within(_));
    let metrics = trial.promises.iter().filter(|promise| has_number(&promise.is));
    named.extend(metrics.map(|promise| promise.measure.as_str()));
    for name in named {
        if !found.iter().any(|one| one.measure == name) {
            let why = "neither the samples nor the workloads of this trial have it".to_owned();
            found.push(TrialNumber { found: Err(why), ..blank(name, "number", None, true) });
        }
    }
    for one in &mut found {
        one.count_by_round(&subject);
        one.unseen = together(subject.unseen.clone().into_iter().chain(one.unseen.take()));
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
    }
}

impl TrialNumber {
    /// Counts its repeats by the rounds of the run: a trial that was skipped in some has fewer.
    fn count_by_round(&mut self, subject: &Subject<'_>) {
        let all: Vec<&Repeat<'_>> = subject.repeats.iter().chain(&subject.left_out).collect();
        let numbers = self.found.iter_mut().chain(&mut self.with_zeros).flatten();
        for one in numbers.chain(&mut self.left_out) {
            let repeat = all.iter().find(|repeat| repeat.number == one.repeat);
            one.repeat = repeat.map_or(one.repeat, |repeat| repeat.round());
        }
    }

    /// Fills in the numbers of one group.
    fn with(mut self, levels: &Result<Levels, String>, group: usize) -> Self {
        match levels {
            Err(why) => self.found = Err(why.clone()),
            Ok(levels) => {
                self.found = levels.of_group(group);
                self.with_zeros = self.found.is_err().then(|| {
                    levels.counted.iter().map(|level| level.at_least_a_unit(group)).collect()
                });
                // Zero has no finite logarithm, and differs from everything.
                self.left_out = levels.left_out.iter().map(|level| level.log(group)).collect();
            }
        }
        self
    }
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
    let passed = subject.passes(|scope| scope == Scope::All);
    let values = match passed.and_then(|()| of(&subject.repeats)) {
        Ok(values) => values,
        Err(why) => return TrialNumber { found: Err(why), ..blank },
    };
    let zeros: Vec<usize> = values.zeros().collect();
    match metric.above_zero(values) {
        Err(why) => {
            // One event, or one a second, in place of the zeros of a metric that was nothing else.
            let is_all = !zeros.is_empty() && zeros.len() == subject.repeats.len();
            let one = |repeat: &usize| RepeatLog { grain: LN_2, ..RepeatLog::exact(*repeat, 0.0) };
            let with_zeros = (is_all && metric::resolution(name) == Resolution::Unit)
                .then(|| zeros.iter().map(one).collect());
            TrialNumber { found: Err(why), with_zeros, ..blank }
        }
        Ok(values) => {
            let left_out = subject.left_out_with_samples();
            let left_out = left_out.filter_map(|repeat| of(std::slice::from_ref(repeat)).ok());
            TrialNumber {
                found: Ok(means(name, &values)),
                lacks_zeros: !zeros.is_empty(),
                left_out: left_out.flat_map(|values| means(name, &values)).collect(),
                // An instance without a number may have been the slowest.
                unseen: together(values.left_out.into_iter()),
                ..blank
            }
        }
    }
}

/// A mean is known as finely as the instances are on average: all may be rounded the same way.
fn means(name: &str, values: &Values) -> Vec<RepeatLog> {
    let numbers = values.rows.iter().flat_map(|(_, row)| row.iter().copied());
    let resolution = metric::resolution(name).of(numbers);
    let grain = |row: &[f64]| {
        let sum: f64 = row.iter().map(|value| resolution.grain(*value)).sum();
        sum / row.len().max(1) as f64
    };
    let each = values.mean_logs().zip(&values.rows);
    each.map(|((repeat, log), (_, row))| RepeatLog {
        grain: grain(row),
        ..RepeatLog::exact(repeat, log)
    })
    .collect()
}

// Shares and rates of the groups, repeat by repeat, and how finely they are counted.

/// Bytes of a page, in which memory is counted, and of the smallest usual request.
const PAGE: f64 = 4096.0;

/// The shares or rates of one repeat.
struct Level {
    repeat: usize,
    of_groups: Vec<f64>,
    /// What is counted at once, of each group: less does not show.
    units: Vec<f64>,
}

impl Level {
    fn log(&self, group: usize) -> RepeatLog {
        self.at_least(group, 0.0)
    }

    /// The same with one unit in place of less.
    fn at_least_a_unit(&self, group: usize) -> RepeatLog {
        self.at_least(group, self.units[group])
    }

    fn at_least(&self, group: usize, least: f64) -> RepeatLog {
        let value = self.of_groups[group].max(least);
        let grain = (self.units[group] / value).ln_1p();
        RepeatLog { grain, ..RepeatLog::exact(self.repeat, value.ln()) }
    }
}

/// Those of all repeats.
struct Levels {
    counted: Vec<Level>,
    left_out: Vec<Level>,
}

impl Levels {
    /// The numbers of one group.
    fn of_group(&self, group: usize) -> Result<Vec<RepeatLog>, String> {
        let of = |level: &Level| match level.of_groups[group] > 0.0 {
            true => Ok(level.log(group)),
            false => Err(format!("it is zero in repeat {}, so there is no ratio", level.repeat)),
        };
        self.counted.iter().map(of).collect()
    }
}

/// The shares or rates of all groups, or of all `together`, in every repeat.
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
        let grid: Grid = repeat.resampled(measure, &subject.groups)?;
        let grid = if together { grid.together() } else { grid };
        let units = units(repeat, measure, &subject.groups, &grid);
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
            units: units.iter().map(|unit| unit / whole).collect(),
        })
    };
    Ok(Levels {
        counted: subject.repeats.iter().map(of).collect::<Result<_, String>>()?,
        left_out: subject.left_out_with_samples().filter_map(|repeat| of(repeat).ok()).collect(),
    })
}

/// What is counted at once, of each column of a grid: a request, a page, and of CPU time a microsecond
/// (`usage_usec` of cpu.stat, Documentation/admin-guide/cgroup-v2.rst).
fn units(repeat: &Repeat<'_>, measure: Measure, groups: &[&str], grid: &Grid) -> Vec<f64> {
    let unit = match measure {
        Measure::IoBytes => return bytes_of_requests(repeat, groups, grid),
        Measure::IoIos | Measure::MemoryRefaults => 1.0,
        Measure::CpuTime => 1e-6,
        // The grid holds the area below the amount.
        Measure::MemoryCurrent | Measure::MemoryDirty => PAGE * grid.seconds(),
    };
    vec![unit; grid.width]
}

/// Mean bytes of a request, of each column of a grid of bytes.
fn bytes_of_requests(repeat: &Repeat<'_>, groups: &[&str], bytes: &Grid) -> Vec<f64> {
    let Ok(requests) = repeat.resampled(Measure::IoIos, groups) else {
        return vec![PAGE; bytes.width];
    };
    let requests = if requests.width == bytes.width { requests } else { requests.together() };
    let mean = |bytes: f64, requests: f64| (requests > 0.0).then(|| bytes / requests);
    let of_all = mean(bytes.totals().iter().sum(), requests.totals().iter().sum());
    let each = bytes.totals().iter().zip(requests.totals());
    each.map(|(bytes, requests)| mean(*bytes, *requests).or(of_all).unwrap_or(PAGE)).collect()
}

// The part of threads and pages that was in place, repeat by repeat.

/// One number for every workload with a placement, if that is what is promised.
fn placed_numbers(subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<TrialNumber> {
    let what = PlacementMeasure::parse(&promise.measure);
    let Some(what) = what.filter(|_| promise.is == RelationRecord::Placed) else {
        return Vec::new();
    };
    let placed = subject.trial.placements.iter();
    let measured = placed.filter(|asked| subject.groups.contains(&asked.group.as_str()));
    measured.map(|asked| placed_number(subject, &promise.measure, (what, asked))).collect()
}

fn placed_number(
    subject: &Subject<'_>,
    name: &str,
    of: (PlacementMeasure, &PlacementRecord),
) -> TrialNumber {
    let logs = |repeats: &[Repeat<'_>]| -> Result<Vec<RepeatLog>, String> {
        let (_, counted) = placement::counted(subject, of, repeats)?;
        let each = repeats.iter().zip(&counted);
        Ok(each.map(|(repeat, counted)| log_of_part(repeat.number, counted)).collect())
    };
    let counted = match &subject.repeats[..] {
        [] => Err("no repeat can be judged".to_owned()),
        repeats => subject.passes(|scope| scope == Scope::All).and_then(|()| logs(repeats)),
    };
    let left_out = subject.left_out_with_samples();
    let left_out = left_out.filter_map(|repeat| logs(std::slice::from_ref(repeat)).ok());
    TrialNumber {
        found: counted,
        left_out: left_out.flatten().collect(),
        ..blank(name, "in_place", Some(&of.1.workload), true)
    }
}

/// As in the verdict the part is rounded to a grain, now up and now down (docs/judging.md, Placement);
/// less than a grain may be one.
fn log_of_part(repeat: usize, counted: &Counted) -> RepeatLog {
    let part = counted.held / counted.of;
    if part < counted.grain {
        return RepeatLog { grain: LN_2, ..RepeatLog::exact(repeat, counted.grain.ln()) };
    }
    let least_error = counted.grain / 12.0_f64.sqrt() / part;
    RepeatLog { least_error, ..RepeatLog::exact(repeat, part.ln()) }
}
