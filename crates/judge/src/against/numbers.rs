//! What one trial gives to be compared: each measure, repeat by repeat.

use assay_record::RelationRecord;

use super::Side;
use super::direction::{self, Direction};
use super::ratio::Number;
use crate::gates::{Gate, Scope};
use crate::grid::Grid;
use crate::measure::Measure;
use crate::metric::{self, Metric};
use crate::promise::Subject;
use crate::reason;
use crate::statistics::batches::Quantity as Estimand;
use crate::trial::Prepared;
use crate::wanted::{self, PLAIN};

/// What every comparison looks at, beside what the study promises something about.
const ALWAYS: [Measure; 4] =
    [Measure::IoBytes, Measure::IoIos, Measure::CpuTime, Measure::MemoryCurrent];

/// One measure of one trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    /// `io.bytes`, `reader.read_p99_ns`.
    pub(super) measure: String,
    /// `rate`, `share`, `amount`, `number`.
    pub(super) of: &'static str,
    /// The one group that it is about.
    pub(super) group: Option<String>,
    /// Which way is better.
    pub(super) direction: Direction,
    /// Whether the study promises something about it, or the user asked for it.
    pub(super) decides: bool,
    /// A number a repeat, or why there is none.
    pub(super) found: Result<Vec<Number>, String>,
}

/// Everything of a trial, in the order in which it is to be shown.
pub(super) fn of_trial(side: &Side<'_>, number: usize, asked: &[String]) -> Vec<Quantity> {
    let manifest = side.manifest;
    let trial = &manifest.trials[number];
    let samples = side.samples.get(number).map_or(&[][..], Vec::as_slice);
    // The same windows as in the verdict: what nothing is promised about must not move them.
    let wanted = wanted::of_run(manifest);
    let prepared = Prepared::new(manifest, trial, samples, &wanted);
    let subject = prepared.subject();
    let promised = |measure: &str| {
        trial.promises.iter().any(|promise| promise.measure == measure)
            || manifest.comparisons.iter().any(|promise| promise.measure == measure)
            || asked.iter().any(|asked| asked == measure)
    };
    let mut found = Vec::new();
    for measure in measures(&subject, asked) {
        found.extend(of_samples(&subject, measure, promised(measure.name())));
    }
    for name in metric::comparable(trial) {
        if let Some(metric) = Metric::parse(&name) {
            found.push(of_workloads(&subject, &name, metric, promised(&name)));
        }
    }
    let known: Vec<String> = found.iter().map(|one| one.measure.clone()).collect();
    for name in asked.iter().filter(|name| !known.contains(name)) {
        let why = "no sample and no workload of this trial gives it".to_owned();
        found.push(blank(name, "number", None, Direction::Neither, true, Err(why)));
    }
    if !found.iter().any(|one| one.decides) {
        // Nothing is promised of a number: then what all groups got together decides.
        let totals = found.iter_mut().filter(|one| one.group.is_none() && one.of == "rate");
        totals.for_each(|one| one.decides = one.direction != Direction::Neither);
    }
    found
}

/// What both sides have, side by side, what decides first. What only one side knows stands beside
/// a reason; what neither has is left out unless it decides.
pub(super) fn pairs(a: Vec<Quantity>, b: Vec<Quantity>) -> Vec<(Quantity, Quantity)> {
    let same =
        |x: &Quantity, y: &Quantity| (&x.measure, x.of, &x.group) == (&y.measure, y.of, &y.group);
    let absent = |of: &Quantity| Quantity {
        found: Err("the other run alone has it".to_owned()),
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

fn measures(subject: &Subject<'_>, asked: &[String]) -> Vec<Measure> {
    let promised = subject.trial.promises.iter().map(|promise| promise.measure.as_str());
    let named = promised.chain(asked.iter().map(String::as_str)).filter_map(Measure::parse);
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
    let mut found =
        vec![blank(name, of, None, direction, decides, total.and_then(|one| numbers(&one, 0)))];
    for (index, group) in subject.groups.iter().enumerate() {
        let numbers = rates.as_ref().map_err(Clone::clone).and_then(|one| numbers(one, index));
        let decides = decides && of_shares.is_none();
        found.push(blank(name, of, Some(group), direction, decides, numbers));
    }
    if let Some(promise) = of_shares {
        let shares = levels(subject, measure, &promise.is, Estimand::Share, false);
        for (index, group) in subject.groups.iter().enumerate() {
            let numbers = shares.as_ref().map_err(Clone::clone).and_then(|one| numbers(one, index));
            found.push(blank(name, "share", Some(group), Direction::Neither, decides, numbers));
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
    found: Result<Vec<Number>, String>,
) -> Quantity {
    let group = group.map(str::to_owned);
    Quantity { measure: measure.to_owned(), of, group, direction, decides, found }
}

/// The shares or rates of each repeat, with its number.
type Levels = Vec<(usize, Vec<f64>)>;

fn levels(
    subject: &Subject<'_>,
    measure: Measure,
    relation: &RelationRecord,
    estimand: Estimand,
    together: bool,
) -> Result<Levels, String> {
    passes(subject, &|scope| scope.concerns(measure, relation))?;
    if subject.repeats.is_empty() {
        return Err("no repeat can be judged".to_owned());
    }
    let of = |repeat: &crate::repeat::Repeat<'_>| {
        let grid: Grid = repeat.resampled(measure, subject.groups)?;
        let grid = if together { grid.together() } else { grid };
        let whole = estimand.whole(&grid);
        if grid.totals().iter().sum::<f64>() <= 0.0 {
            return Err(format!("no measured group got anything in repeat {}", repeat.number));
        }
        Ok((repeat.number, grid.totals().iter().map(|total| total / whole).collect()))
    };
    subject.repeats.iter().map(of).collect()
}

/// The numbers of one group.
fn numbers(repeats: &Levels, group: usize) -> Result<Vec<Number>, String> {
    let of = |(repeat, levels): &(usize, Vec<f64>)| match levels[group] {
        level if level > 0.0 => Ok(Number { repeat: *repeat, log: level.ln() }),
        _ => Err(format!("it got nothing in repeat {repeat}, of which there is no ratio")),
    };
    repeats.iter().map(of).collect()
}

/// The geometric mean over the instances of a workload.
fn of_workloads(subject: &Subject<'_>, name: &str, metric: Metric<'_>, decides: bool) -> Quantity {
    let values = passes(subject, &|scope| scope == Scope::All)
        .and_then(|()| metric.values(subject.trial, subject.repeats, |_| true));
    let found = values.map(|values| {
        let rows = values.rows.iter().map(|(repeat, row)| {
            let logs: f64 = row.iter().map(|value| value.ln()).sum();
            Number { repeat: *repeat, log: logs / row.len().max(1) as f64 }
        });
        rows.collect()
    });
    let own = name.split_once('.').map_or(name, |(_, own)| own);
    blank(name, "number", None, direction::of_metric(own), decides, found)
}

/// Whether every check that concerns a number holds.
fn passes(subject: &Subject<'_>, concerns: &dyn Fn(Scope) -> bool) -> Result<(), String> {
    let failed: Vec<&Gate> =
        subject.gates.iter().filter(|gate| !gate.check.ok && concerns(gate.scope)).collect();
    if failed.is_empty() { Ok(()) } else { Err(reason::of_gates(&failed)) }
}
