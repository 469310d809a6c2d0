//! Curves of single counters over time, of the host or of a whole source.

use serde_json::json;

use super::spec::{base, csv_number, only_chosen, phases, seconds};
use super::{Drawing, Rows};
use crate::counters::{Bins, Curve, curves};
use crate::trial::Trial;

/// Maximum points of one curve in one repeat.
const POINTS: usize = 200;

/// One curve.
pub(super) struct Line {
    /// Its name in the legend.
    pub(super) label: &'static str,
    /// The counters that are summed.
    pub(super) columns: &'static [&'static str],
    /// Whether they are gauges and not cumulative counters.
    pub(super) gauge: bool,
    /// Factor from the raw count to the unit of the axis.
    pub(super) scale: f64,
}

/// A figure of curves from one source.
pub(super) struct Curves {
    pub(super) part: &'static str,
    pub(super) title: &'static str,
    pub(super) reading: &'static str,
    /// The axis with its unit.
    pub(super) axis: &'static str,
    pub(super) source: &'static str,
    pub(super) lines: &'static [Line],
}

/// Draws the curves; those that this kernel does not provide are omitted and named in the
/// explanation.
pub(super) fn series(trial: &Trial<'_>, figure: &Curves) -> Drawing {
    let mut rows = Rows::new(&[("seconds", "number"), ("what", "string"), ("value", "number")]);
    let mut drawn: Vec<&str> = Vec::new();
    let mut is_zero = true;
    for (number, repeat, table) in trial.tables(figure.source) {
        for line in figure.lines {
            // These tables have one subject, the host.
            let host = table.subjects.first().cloned().unwrap_or_default();
            let Some(curve) = curves(table, line.columns).remove(&host) else { continue };
            let Some(bins) = Bins::new(repeat, &curve, POINTS) else { continue };
            for (seconds, from, to) in bins.iter() {
                let value = if line.gauge { mean(&curve, from, to) } else { curve.rate(from, to) };
                if let Some(value) = value {
                    is_zero &= value == 0.0;
                    let value = csv_number(value * line.scale);
                    rows.add(number, &format!("{seconds:.2},{},{value}", line.label));
                    drawn.push(line.label);
                }
            }
        }
    }
    let absent: Vec<&str> =
        figure.lines.iter().map(|line| line.label).filter(|label| !drawn.contains(label)).collect();
    let spec = base(&format!("{}, trial {}", figure.title, trial.number), 180, 1);
    let spec = rows.into_spec(trial, figure.source, spec, |repeats| {
        let labels: Vec<&str> = figure.lines.iter().map(|line| line.label).collect();
        let mut layers = vec![json!({
            "transform": only_chosen(repeats),
            "mark": {"type": "line", "strokeWidth": 1.6, "tooltip": true},
            "encoding": {
                "x": seconds(),
                "y": {"field": "value", "type": "quantitative", "title": figure.axis,
                    "axis": {"tickCount": 5}},
                "color": {"field": "what", "type": "nominal", "scale": {"domain": labels},
                    "legend": {"title": null, "orient": "top", "columns": 3}},
            },
        })];
        layers.extend(phases(trial, repeats));
        layers
    });
    // A flat line would be read for nothing.
    let spec =
        spec.and_then(|spec| if is_zero { Err("0 throughout".to_owned()) } else { Ok(spec) });
    let mut reading = figure.reading.to_owned();
    if spec.is_ok() && !absent.is_empty() {
        reading.push_str(&format!(" Not available on this kernel: {}.", absent.join(", ")));
    }
    Drawing { part: figure.part, title: figure.title.to_owned(), reading, wide: false, spec }
}

/// The mean of a gauge; interpolated if no reading falls into the bin.
fn mean(curve: &Curve, from_ns: u64, to_ns: u64) -> Option<f64> {
    curve.mean(from_ns, to_ns).or_else(|| curve.at(from_ns.midpoint(to_ns)))
}
