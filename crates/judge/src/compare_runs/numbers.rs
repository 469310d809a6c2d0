//! The measures of one trial to be compared, repeat by repeat.

use assay_run_folder::RelationRecord;

use super::Side;
use super::direction::{self, Direction};
use super::ratio::Number;
use crate::checks::Scope;
use crate::grid::Grid;
use crate::measure::Measure;
use crate::metric::{self, Metric, Values};
use crate::promise::Subject;
use crate::repeat::Repeat;
use crate::statistics::batches::Quantity as Estimand;
use crate::trial::Prepared;
use crate::trial_value::{self, PLAIN};
use crate::wording::together;

/// Measures of every comparison, in addition to those with a promise.
const ALWAYS: [Measure; 4] =
    [Measure::IoBytes, Measure::IoIos, Measure::CpuTime, Measure::MemoryCurrent];

/// One measure of one trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    /// `io.bytes`, `reader.read_p99_ns`.
    pub(super) measure: String,
    /// `rate`, `share`, `amount`, `number`.
    pub(super) of: &'static str,
    /// The group, if it is about one.
    pub(super) group: Option<String>,
    /// Which way is better.
    pub(super) direction: Direction,
    /// Whether the study promises something about it, or the user selected it.
    pub(super) decides: bool,
    /// One number per counted repeat, or why there is none.
    pub(super) found: Result<Vec<Number>, String>,
    /// Numbers of repeats that were left out, where available.
    pub(super) left_out: Vec<Number>,
    /// Unobserved repeats, and why.
    pub(super) unseen: Option<String>,
}

/// All quantities of a trial, in display order.
pub(super) fn of_trial(side: &Side<'_>, number: usize, selected: &[String]) -> Vec<Quantity> {
    let manifest = side.manifest;
    let trial = &manifest.trials[number];
    let samples = side.samples.get(number).map_or(&[][..], Vec::as_slice);
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
        let blank = blank(name, "number", None, Direction::Neither, true);
        found.push(Quantity { found: Err(why), ..blank });
    }
    for one in &mut found {
        one.unseen =
            together(subject.unseen.map(str::to_owned).into_iter().chain(one.unseen.take()));
    }
    if !found.iter().any(|one| one.decides) {
        // Without a promise the total of all groups decides.
        let totals = found.iter_mut().filter(|one| one.group.is_none() && one.of == "rate");
        totals.for_each(|one| one.decides = one.direction != Direction::Neither);
    }
    found
}

/// Pairs the quantities of both sides, deciding ones first. A quantity that only one side has gets
/// a reason on the other; one that neither has is left out unless it decides.
pub(super) fn pairs(a: Vec<Quantity>, b: Vec<Quantity>) -> Vec<(Quantity, Quantity)> {
    let same =
        |x: &Quantity, y: &Quantity| (&x.measure, x.of, &x.group) == (&y.measure, y.of, &y.group);
    let absent = |of: &Quantity| Quantity {
        found: Err("only the other run has it".to_owned()),
        ..of.clone()
    };
    let mut b = b;
    let mut paired: Vec<(Quantity, Quantity)> = Vec::new();
    for one in a {
        let other = match b.iter().position(|other| same(&one, other)) {
            Some(place) => b.remove(place),
            None => absent(&one),
        };
        paired.push((one, other));
    }
    paired.extend(b.into_iter().map(|other| (absent(&other), other)));
    for (a, b) in &mut paired {
        let decides = a.decides || b.decides;
        (a.decides, b.decides) = (decides, decides);
    }
    paired.retain(|(a, b)| a.decides || a.found.is_ok() || b.found.is_ok());
    paired.sort_by_key(|(a, _)| !a.decides);
    paired
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
fn of_samples(subject: &Subject<'_>, measure: Measure, decides: bool) -> Vec<Quantity> {
    let of = if measure.is_gauge() { "amount" } else { "rate" };
    let direction = direction::of_measure(measure);
    let name = measure.name();
    let of_shares = subject.trial.promises.iter().find(|promise| {
        promise.measure == name
            && matches!(promise.is, RelationRecord::Proportional(_) | RelationRecord::Equal)
    });
    let rates = levels(subject, measure, &PLAIN, Estimand::Rate, false);
    let total = levels(subject, measure, &PLAIN, Estimand::Rate, true);
    let mut found = vec![blank(name, of, None, direction, decides).with(&total, 0)];
    for (index, group) in subject.groups.iter().enumerate() {
        let decides = decides && of_shares.is_none();
        found.push(blank(name, of, Some(group), direction, decides).with(&rates, index));
    }
    if let Some(promise) = of_shares {
        let shares = levels(subject, measure, &promise.is, Estimand::Share, false);
        for (index, group) in subject.groups.iter().enumerate() {
            let blank = blank(name, "share", Some(group), Direction::Neither, decides);
            found.push(blank.with(&shares, index));
        }
    }
    found
}

fn blank(
    measure: &str,
    of: &'static str,
    group: Option<&str>,
    direction: Direction,
    decides: bool,
) -> Quantity {
    Quantity {
        measure: measure.to_owned(),
        of,
        group: group.map(str::to_owned),
        direction,
        decides,
        found: Ok(Vec::new()),
        left_out: Vec::new(),
        unseen: None,
    }
}

/// The shares or rates of each repeat, with its number.
struct Levels {
    counted: Vec<(usize, Vec<f64>)>,
    left_out: Vec<(usize, Vec<f64>)>,
}

impl Quantity {
    /// Fills in the numbers of one group.
    fn with(mut self, levels: &Result<Levels, String>, group: usize) -> Self {
        match levels {
            Err(why) => self.found = Err(why.clone()),
            Ok(levels) => {
                self.found = numbers(&levels.counted, group);
                // Zero has no finite logarithm, and differs from everything.
                let of = |(repeat, levels): &(usize, Vec<f64>)| Number {
                    repeat: *repeat,
                    log: levels[group].ln(),
                };
                self.left_out = levels.left_out.iter().map(of).collect();
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
        if grid.totals().iter().sum::<f64>() <= 0.0 {
            return Err(format!(
                "the measured groups have a total of zero in repeat {}",
                repeat.number
            ));
        }
        Ok((repeat.number, grid.totals().iter().map(|total| total / whole).collect()))
    };
    Ok(Levels {
        counted: subject.repeats.iter().map(of).collect::<Result<_, String>>()?,
        left_out: subject.left_out_with_samples().filter_map(|repeat| of(repeat).ok()).collect(),
    })
}

/// The numbers of one group.
fn numbers(repeats: &[(usize, Vec<f64>)], group: usize) -> Result<Vec<Number>, String> {
    let of = |(repeat, levels): &(usize, Vec<f64>)| match levels[group] {
        level if level > 0.0 => Ok(Number { repeat: *repeat, log: level.ln() }),
        _ => Err(format!("it is zero in repeat {repeat}, so there is no ratio")),
    };
    repeats.iter().map(of).collect()
}

/// Geometric mean over the instances of a workload.
fn of_workloads(subject: &Subject<'_>, name: &str, metric: Metric<'_>, decides: bool) -> Quantity {
    let own = name.split_once('.').map_or(name, |(_, own)| own);
    let blank = blank(name, "number", None, direction::of_metric(own), decides);
    let of = |repeats: &[Repeat<'_>]| metric.values(subject.trial, repeats, |_| true);
    match subject.passes(|scope| scope == Scope::All).and_then(|()| of(subject.repeats)) {
        Err(why) => Quantity { found: Err(why), ..blank },
        Ok(values) => {
            let left_out = subject.left_out_with_samples();
            let left_out = left_out.filter_map(|repeat| of(std::slice::from_ref(repeat)).ok());
            Quantity {
                found: Ok(means(&values)),
                left_out: left_out.flat_map(|values| means(&values)).collect(),
                // An instance without a number may have been the slowest.
                unseen: together(values.left_out.into_iter()),
                ..blank
            }
        }
    }
}

fn means(values: &Values) -> Vec<Number> {
    values.mean_logs().map(|(repeat, log)| Number { repeat, log }).collect()
}
