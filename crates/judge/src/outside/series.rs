//! Amounts over time: the same window, grid, warm-up and bootstrap as for Assay's own samples.

use super::{Amounts, Found, Outside, assemble};
use crate::gates::{steady, window};
use crate::grid::Grid;
use crate::judgement::Check;
use crate::series::{Series, monotone};
use crate::statistics::bootstrap::{self, DRAWS, Quantity, Stream};
use crate::statistics::estimate::combine;
use crate::warm_up;

/// Estimates on the time that all groups have in common. The error says what is missing.
pub(super) fn numbers(outside: &Outside) -> Result<Found, String> {
    let mut all: Vec<Series> = Vec::with_capacity(outside.groups.len());
    for group in &outside.groups {
        let Amounts::Series(series) = &group.amounts else { continue };
        if series.len() < 2 {
            return Err(format!("`{}` has fewer than two readings", group.name));
        }
        all.push(monotone(&group.name, series.clone())?);
    }
    let whole = Grid::of_series(&all, 1.0, 0, u64::MAX)
        .map_err(|_| "the groups have no time in common that holds two readings".to_owned())?;
    let cut = warm_up::find(&whole);
    let grid = whole.cut(cut.steps);
    let stream = Stream { seed: outside.seed, number: 0 };
    let draws = bootstrap::resample(&grid, Quantity::Share, DRAWS, stream)
        .ok_or("no group got anything")?;
    let combined = combine(&[draws], outside.confidence).ok_or("there is no group")?;
    let rates = grid.totals().iter().map(|total| total / grid.seconds()).collect();
    let assumption =
        (!cut.settled).then(|| "no steady state was found, the second half is judged".to_owned());
    let expected = super::expected(outside);
    let names = |group: usize| outside.groups[group].name.as_str();
    let (moved, most) = steady::crossings(&grid, &expected, outside.within, names);
    let steady = steady::finding(&moved, most);
    let seconds = grid.seconds();
    let window = Check {
        check: "window".to_owned(),
        ok: seconds >= window::LEAST_S,
        evidence: format!(
            "{seconds:.1} s common to all groups after warm-up (at least {:.0} s needed)",
            window::LEAST_S
        ),
    };
    let steady = Check { check: "steady".to_owned(), ok: steady.ok, evidence: steady.evidence };
    Ok(Found {
        checks: vec![window, steady],
        numbers: assemble(outside, combined.groups, rates, combined.blocks, grid.seconds()),
        warm_up_s: cut.steps as f64 * grid.step_s(),
        assumption,
    })
}
