//! Means of the measured groups over the judged windows of a trial.

use std::collections::BTreeMap;

use assay_record::terms::Measure;

use crate::counters::{Curve, curves};
use crate::measure_style;
use crate::trial::Trial;

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
