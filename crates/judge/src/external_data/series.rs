//! Amounts over time, with the same window, grid, warm-up and intervals as a repeat of a run.

use assay_stats::batches::Quantity;
use assay_stats::series::{Series, monotone};
use assay_stats::{Grid, warm_up};
use assay_terms::Side;
use assay_verdict::Check;

use super::{Amounts, ExternalData, ExternalNumbers, expected};
use crate::checks::window;
use crate::estimates::{Observed, PromiseData};

/// Estimates over the common time of all groups. The error names what is missing.
pub(super) fn numbers(outside: &ExternalData) -> Result<ExternalNumbers, String> {
    let mut all: Vec<Series> = Vec::with_capacity(outside.groups.len());
    for group in &outside.groups {
        let Amounts::Series(series) = &group.amounts else { continue };
        if series.len() < 2 {
            return Err(format!("`{}` has fewer than two readings", group.name));
        }
        all.push(monotone(&group.name, series.clone())?);
    }
    // The check `together` covers how much of its time a group shared with the others.
    let from_ns = all.iter().map(|series| series[0].0).max().unwrap_or(0);
    let to_ns = all.iter().map(|series| series[series.len() - 1].0).min().unwrap_or(0);
    let whole = Grid::of_series(&all, 1.0, from_ns, to_ns)
        .map_err(|_| "the groups have no time in common that holds two readings".to_owned())?;
    let steps = warm_up::find(&whole, Quantity::Share);
    let judged = whole.cut(steps);
    let data = PromiseData {
        names: outside.groups.iter().map(|group| group.name.clone()).collect(),
        expected: expected(outside),
        quantity: Quantity::Share,
        // Shares of nothing do not exist.
        unit: 0.0,
        side: Side::Both,
        within: outside.within,
        confidence: outside.confidence,
        every: None,
        repeats: vec![Observed { number: 1, observed: &whole, judged: &judged }],
    };
    let numbers = data.numbers().map_err(|_| "all amounts are zero")?;
    let seconds = judged.seconds();
    let mut evidence = format!(
        "{seconds:.1} s common to all groups after warm-up (at least {:.0} s needed)",
        window::LEAST_S
    );
    let silent = window::silence(&whole);
    if let Some(silent) = &silent {
        evidence = format!("{evidence}; the log of some group {silent}");
    }
    let ok = silent.is_none() && seconds >= window::LEAST_S;
    let window = Check { check: "window".to_owned(), ok, evidence };
    Ok(ExternalNumbers {
        checks: vec![window],
        numbers,
        warm_up_s: steps as f64 * whole.step_s(),
        assumption: None,
        known: true,
    })
}
