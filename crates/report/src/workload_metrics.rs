//! Workload metrics as rows: for the terminal the most relevant ones, for the page all of them.

use assay_verdict::{Figure, WorkloadMetrics};
use assay_workload::{FIO, kind};
use serde::Serialize;

use crate::number;
use crate::trial::Trial;

/// Maximum number of metrics shown on a terminal for a workload kind without a list of relevant
/// ones.
const MAX_SHOWN: usize = 12;

/// One metric of one workload.
#[derive(Serialize)]
pub(crate) struct Row<'t> {
    pub(crate) workload: &'t str,
    pub(crate) tool: &'t str,
    pub(crate) metric: &'t str,
    /// The mean over repeats.
    pub(crate) value: String,
    /// One value per repeat; empty with only one repeat.
    pub(crate) repeats: String,
}

/// Workloads with metrics to show: all workloads of a trial in which anything but fio ran. Most of
/// fio's metrics repeat what was sampled.
pub(crate) fn workloads<'t>(trial: &Trial<'t>) -> Vec<&'t WorkloadMetrics> {
    let all = trial.judgement.map_or(&[][..], |judgement| &judgement.workloads);
    if all.iter().all(|figures| figures.tool == FIO) {
        return Vec::new();
    }
    all.iter().collect()
}

/// All metrics.
pub(crate) fn rows(figures: &WorkloadMetrics) -> Vec<Row<'_>> {
    figures.metrics.iter().map(|(name, figure)| row(figures, name, figure)).collect()
}

/// The relevant metrics of its kind, in order.
pub(crate) fn headline(figures: &WorkloadMetrics) -> Vec<Row<'_>> {
    let relevant: &[&str] = match figures.tool.as_str() {
        FIO => &["read_iops", "write_iops"],
        tool => kind(tool).map_or(&[], |kind| kind.headline),
    };
    let selected = relevant.iter().filter_map(|name| figures.metrics.get_key_value(*name));
    let selected: Vec<Row<'_>> = selected
        .filter(|(_, figure)| figures.tool != FIO || figure.value > 0.0)
        .map(|(name, figure)| row(figures, name, figure))
        .collect();
    if selected.is_empty() { rows(figures).into_iter().take(MAX_SHOWN).collect() } else { selected }
}

fn row<'t>(figures: &'t WorkloadMetrics, metric: &'t str, figure: &'t Figure) -> Row<'t> {
    let each = figure.repeats.iter().map(|value| digits(*value));
    Row {
        workload: &figures.name,
        tool: &figures.tool,
        metric,
        value: digits(figure.value),
        repeats: match figure.repeats.len() {
            0 | 1 => String::new(),
            _ => each.collect::<Vec<_>>().join(", "),
        },
    }
}

/// Five digits at any magnitude: a metric's unit is in its name.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return number::plain(value);
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.4e}");
    }
    let decimals = (4.0 - magnitude).clamp(0.0, 9.0) as usize;
    let text = number::fixed(value, decimals);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_magnitude_have_five_digits() {
        assert_eq!(digits(8_413.27), "8413.3");
        assert_eq!(digits(123_456_789.0), "123456789");
        assert_eq!(digits(0.000_123_456), "0.00012346");
        assert_eq!(digits(1.5), "1.5");
        assert_eq!(digits(2.5e-9), "2.5000e-9");
        assert_eq!(digits(0.0), "0");
    }
}
