//! Rates over time, downsampled to keep figures readable and pages small.
//!
//! A counter is interpolated at the edges of equal bins and differenced, so a point is the true
//! mean rate over its bin: downsampling loses detail but no bytes.

use std::collections::BTreeMap;

use assay_run_folder::RepeatRecord;
use assay_terms::Measure;

use crate::counters::{Curve, curves};
use crate::measure_style;
use crate::trial::Trial;

/// Maximum points of one curve: about one for every three pixels of a wide page.
const POINTS_OF_CURVE: usize = 300;

/// Maximum points of one figure, all curves and repeats together.
const POINTS_OF_FIGURE: usize = 6_000;

/// One point of a figure over time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    /// Repeat number, from 1.
    pub(crate) repeat: usize,
    /// Middle of the bin, seconds after the release of the first workload.
    pub(crate) seconds: f64,
    /// Group, or weight if groups are aggregated.
    pub(crate) series: String,
    /// The weight as shown in the legend.
    pub(crate) class: String,
    /// The rate, or the mean over the groups of one weight.
    pub(crate) value: f64,
    /// Tenth and ninetieth percentile over the groups of one weight.
    pub(crate) spread: Option<(f64, f64)>,
}

/// Equal bins from the release of a repeat to its end.
pub(crate) struct Bins {
    origin_ns: u64,
    edges_ns: Vec<u64>,
}

impl Bins {
    /// As many bins as the curve has samples, up to `at_most`.
    pub(crate) fn new(repeat: &RepeatRecord, curve: &Curve, at_most: usize) -> Option<Self> {
        let (from, to) = curve.clamp(repeat.released_ns, repeat.stopped_ns)?;
        let samples = curve.count(from, to).saturating_sub(1);
        let bins = samples.clamp(1, at_most.clamp(1, POINTS_OF_CURVE)) as u64;
        let edges_ns = (0..=bins).map(|edge| from + (to - from) * edge / bins).collect();
        Some(Self { origin_ns: repeat.released_ns, edges_ns })
    }

    /// `(seconds, from_ns, to_ns)` of every bin.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (f64, u64, u64)> + '_ {
        self.edges_ns.windows(2).map(|edges| {
            let middle = (edges[0] + edges[1]) / 2;
            (middle.saturating_sub(self.origin_ns) as f64 / 1e9, edges[0], edges[1])
        })
    }
}

/// The rate (for a gauge, the mean) of a measure for every measured group, or for every weight if
/// there are many groups.
pub(crate) fn rates(trial: &Trial<'_>, measure: Measure) -> Vec<Point> {
    let tables = trial.tables(measure.source());
    let series = if trial.subjects.aggregated() {
        trial.subjects.classes().len()
    } else {
        trial.subjects.0.len()
    };
    let at_most = POINTS_OF_FIGURE / (series * tables.len()).max(1);
    let mut points = Vec::new();
    for (number, repeat, table) in tables {
        let curves = curves(table, measure.columns());
        let longest =
            curves.values().max_by_key(|c| c.count(repeat.released_ns, repeat.stopped_ns));
        let Some(bins) = longest.and_then(|curve| Bins::new(repeat, curve, at_most)) else {
            continue;
        };
        for (seconds, from, to) in bins.iter() {
            let values = trial.subjects.0.iter().filter_map(|subject| {
                let rate = measure_style::value(measure, curves.get(&subject.name)?, from, to)?;
                Some((subject.name.clone(), subject.class(), rate * measure.scale()))
            });
            let at = Point {
                repeat: number,
                seconds,
                series: String::new(),
                class: String::new(),
                value: 0.0,
                spread: None,
            };
            if trial.subjects.aggregated() {
                points.extend(aggregated(&at, values));
            } else {
                points.extend(values.map(|(series, class, value)| Point {
                    series,
                    class,
                    value,
                    ..at.clone()
                }));
            }
        }
    }
    points
}

fn aggregated(at: &Point, values: impl Iterator<Item = (String, String, f64)>) -> Vec<Point> {
    let mut classes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (_, class, rate) in values {
        classes.entry(class).or_default().push(rate);
    }
    let of_class = |(class, mut rates): (String, Vec<f64>)| {
        rates.sort_by(f64::total_cmp);
        Point {
            series: class.clone(),
            class,
            value: rates.iter().sum::<f64>() / rates.len() as f64,
            spread: Some((quantile(&rates, 0.1), quantile(&rates, 0.9))),
            ..at.clone()
        }
    };
    classes.into_iter().map(of_class).collect()
}

/// The nearest-rank quantile of sorted, non-empty values.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

/// The mean rate of every measured group over the judged windows of all repeats.
pub(crate) fn mean_rates(
    trial: &Trial<'_>,
    source: &str,
    columns: &[&str],
) -> BTreeMap<String, f64> {
    over_windows(trial, source, columns, Curve::rate)
}

/// The mean of a measure of every measured group over the judged windows of all repeats, in
/// units of its measure.
pub(crate) fn means(trial: &Trial<'_>, measure: Measure) -> BTreeMap<String, f64> {
    let of = |curve: &Curve, from, to| measure_style::value(measure, curve, from, to);
    let mut means = over_windows(trial, measure.source(), measure.columns(), of);
    means.values_mut().for_each(|mean| *mean *= measure.scale());
    means
}

fn over_windows(
    trial: &Trial<'_>,
    source: &str,
    columns: &[&str],
    of: impl Fn(&Curve, u64, u64) -> Option<f64>,
) -> BTreeMap<String, f64> {
    let mut grown: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (_, repeat, table) in trial.tables(source) {
        let Some((from, to)) = trial.window(repeat) else { continue };
        for (name, curve) in curves(table, columns) {
            let Some((from, to)) = curve.clamp(from, to) else { continue };
            if let Some(rate) = of(&curve, from, to) {
                let seconds = (to - from) as f64 / 1e9;
                let sum = grown.entry(name).or_default();
                *sum = (sum.0 + rate * seconds, sum.1 + seconds);
            }
        }
    }
    grown.into_iter().map(|(name, (sum, seconds))| (name, sum / seconds)).collect()
}
