//! Figures: self-contained Vega-Lite specs, or the reason why there is none.

mod bars;
mod classes;
mod cpu;
mod curves;
mod device;
mod latency;
mod levels;
mod memory_management;
mod node_traffic;
mod over_time;
mod overview;
mod page_nodes;
mod ratios;
mod series;
mod spec;
mod threads;
mod waiting;

use std::collections::BTreeMap;

use assay_record::terms::Measure;
use assay_sys::escape::page::Figure;
use serde_json::{Value, json};

use crate::trial::Trial;
use crate::{measure_style, wording};

pub(crate) use classes::classes;
pub(crate) use levels::levels;
pub(crate) use overview::{errors_of_hosts, overview};
pub(crate) use page_nodes::node_columns;
pub(crate) use ratios::ratios;
pub(crate) use threads::short;
pub(crate) use waiting::waiting;

/// The content of a figure, before it is assigned an id.
struct Drawing {
    part: &'static str,
    title: String,
    reading: String,
    wide: bool,
    spec: Result<Value, String>,
}

impl Drawing {
    fn figure(self, id: String, greyed: bool) -> Figure {
        let Self { title, reading, wide, spec, .. } = self;
        Figure { id, title, reading, wide, greyed, spec: spec.map(|spec| spec.to_string()) }
    }
}

/// A full-width figure from a complete spec, or the reason why there is none.
#[must_use]
fn drawn(
    id: String,
    title: impl Into<String>,
    reading: impl Into<String>,
    spec: Result<Value, String>,
) -> Figure {
    let (title, reading) = (title.into(), reading.into());
    Drawing { part: "", title, reading, wide: true, spec }.figure(id, false)
}

/// The measure of the promise that decides the trial, if its groups are drawn.
fn decisive(trial: &Trial<'_>) -> Option<Measure> {
    let promise = wording::decisive(trial.judgement?)?;
    Measure::parse(&promise.measure).filter(|_| !promise.groups.is_empty())
}

/// The groups against the promise that decides the trial.
pub(crate) fn picture(trial: &Trial<'_>) -> Option<Figure> {
    let drawing = bars::bars(trial, decisive(trial)?);
    let drawing = Drawing { title: format!("{}, against the promise", drawing.title), ..drawing };
    assign_ids(trial, vec![drawing], trial.is_void()).pop()
}

/// The same measure over time, and on a disk the latencies.
pub(crate) fn over_time(trial: &Trial<'_>) -> Vec<Figure> {
    let Some(measure) = decisive(trial) else { return Vec::new() };
    let mut drawings = vec![over_time::over_time(trial, measure)];
    if !trial.record.disks.is_empty() {
        drawings.push(latency::latency(trial));
    }
    assign_ids(trial, drawings, trial.is_void())
}

/// The figures of each group's results that are not shown above.
pub(crate) fn more(trial: &Trial<'_>) -> Vec<Figure> {
    let above = decisive(trial);
    let shown = measure_style::shown(trial).into_iter().filter(|measure| above != Some(*measure));
    let shown: Vec<Measure> = shown.collect();
    let mut drawings: Vec<Drawing> =
        shown.iter().map(|measure| bars::bars(trial, *measure)).collect();
    drawings.extend(shown.iter().map(|measure| over_time::over_time(trial, *measure)));
    if above.is_none() && !trial.record.disks.is_empty() {
        drawings.push(latency::latency(trial));
    }
    drawings.extend(curves::curves(trial));
    assign_ids(trial, drawings, trial.is_void())
}

/// The figures of the machine during the trial.
pub(crate) fn machine(trial: &Trial<'_>) -> Vec<Figure> {
    let mut drawings = Vec::new();
    if !trial.record.disks.is_empty() {
        drawings.push(device::in_flight(trial));
    }
    drawings.push(cpu::cpu(trial));
    if has(trial, "threads") {
        drawings.extend(placement(trial));
    }
    let traffic = node_traffic::node_traffic(trial);
    drawings.extend(unavailable_counters(trial, &traffic));
    drawings.extend(traffic);
    // Runs of older versions lack these, and their reports need no empty figures for them.
    let known = memory_management::FIGURES.iter();
    let sampled = known.filter(|figure| figure.source != "pressure" && has(trial, figure.source));
    drawings.extend(sampled.map(|figure| series::series(trial, figure)));
    assign_ids(trial, drawings, false)
}

/// The figures of a recording without a study; data that the machine lacks are replaced by the
/// reason.
pub(crate) fn recorded(trial: &Trial<'_>) -> Vec<Figure> {
    let mut drawings = placement(trial);
    drawings.push(cpu::cpu(trial));
    drawings.extend(memory_management::FIGURES.iter().map(|figure| series::series(trial, figure)));
    assign_ids(trial, drawings, false)
}

/// Placeholders with reasons for figures from hardware counters that the study requested but that
/// are not available, one for each figure that is not drawn from another source.
fn unavailable_counters(trial: &Trial<'_>, drawn: &[Drawing]) -> Vec<Drawing> {
    let lacks = |source: &str| {
        trial.record.repeats.iter().any(|repeat| repeat.not_available.contains_key(source))
    };
    let mut parts: Vec<&str> = drawn.iter().map(|drawing| drawing.part).collect();
    let mut absent = Vec::new();
    for (source, part, title) in node_traffic::SOURCES {
        if lacks(source) && !parts.contains(&part) {
            parts.push(part);
            let (title, spec) = (title.to_owned(), Err(trial.why_missing(source)));
            absent.push(Drawing { part, title, reading: String::new(), wide: false, spec });
        }
    }
    absent
}

/// CPUs of threads, and below it the nodes of their pages.
fn placement(trial: &Trial<'_>) -> Vec<Drawing> {
    let mut drawings = vec![threads::threads(trial, threads::Colour::Cpu)];
    if threads::several_nodes(trial) {
        drawings.push(threads::threads(trial, threads::Colour::Node));
    }
    drawings.push(page_nodes::page_nodes(trial));
    drawings
}

fn has(trial: &Trial<'_>, source: &str) -> bool {
    !trial.tables(source).is_empty()
}

fn assign_ids(trial: &Trial<'_>, drawings: Vec<Drawing>, greyed: bool) -> Vec<Figure> {
    let placed = drawings.into_iter();
    placed
        .map(|drawing| {
            let id = trial.anchor(drawing.part);
            drawing.figure(id, greyed)
        })
        .collect()
}

/// The rows of a figure over time as CSV, so that they are readable without this program.
struct Rows {
    columns: &'static [Column],
    csv: String,
    repeats: Vec<usize>,
}

/// The name of a column, and its type in Vega.
type Column = (&'static str, &'static str);

impl Rows {
    /// No rows yet; each will have the number of its repeat before these columns.
    fn new(columns: &'static [Column]) -> Self {
        let names: String = columns.iter().map(|(name, _)| format!(",{name}")).collect();
        Self { columns, csv: format!("repeat{names}\n"), repeats: Vec::new() }
    }

    /// Adds a row of a repeat; `cells` are separated by commas.
    fn add(&mut self, repeat: usize, cells: &str) {
        self.csv.push_str(&format!("{repeat},{cells}\n"));
        if self.repeats.last() != Some(&repeat) {
            self.repeats.push(repeat);
        }
    }

    /// Completes a spec with the rows, a choice of the repeat, and the layers for these repeats.
    /// Without rows it is the reason why this source has none.
    fn into_spec(
        self,
        trial: &Trial<'_>,
        source: &str,
        mut spec: Value,
        layers: impl FnOnce(&[usize]) -> Vec<Value>,
    ) -> Result<Value, String> {
        if self.repeats.is_empty() {
            return Err(trial.why_missing(source));
        }
        let types: BTreeMap<&str, &str> =
            self.columns.iter().copied().chain([("repeat", "number")]).collect();
        spec["data"] = json!({"values": self.csv, "format": {"type": "csv", "parse": types}});
        spec["params"] = repeat_choice(&self.repeats);
        spec["layer"] = Value::Array(layers(&self.repeats));
        Ok(spec)
    }
}

/// A control to choose one of several repeats; none with a single repeat.
fn repeat_choice(repeats: &[usize]) -> Value {
    match repeats.first() {
        Some(first) if repeats.len() > 1 => json!([{
            "name": "shown_repeat",
            "value": first,
            "bind": {"input": "radio", "options": repeats, "name": "Repeat "},
        }]),
        _ => json!([]),
    }
}
