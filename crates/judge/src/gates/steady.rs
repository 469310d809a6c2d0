//! `steady`: the shares stayed what they were, so that their mean says something.
//!
//! Many programs never reach a steady state (Traini et al. 2023), and "none was found" is then the
//! answer. A share may wander within the margin, or far outside of it; what makes a mean
//! arbitrary is a share that *crosses* the margin, within in one half of the window and outside in
//! the other, by more than chance allows.

use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::expected::Expected;
use crate::grid::Grid;
use crate::measure::Measure;
use crate::repeat::Repeat;
use crate::statistics::student::t_quantile;
use crate::wording::{percent, some_of};

/// Parts of each half of the window whose scatter tells chance from a change.
const PARTS: usize = 8;

/// A change must be this sure over all groups: a gate that fails by chance costs a verdict.
const SURE: f64 = 0.999;

/// Listed where shares are promised.
pub(super) fn gate(evidence: &Evidence<'_>) -> Option<Gate> {
    if !evidence.any_promise(Scope::Shares) {
        return None;
    }
    let check = of_each_repeat("steady", evidence, |repeat| find(evidence, repeat));
    let summary = "no steady state was found: shares crossed the margin within the window";
    Some(Gate { check, scope: Scope::Shares, proves: Some(("C-NO-STEADY-STATE", summary)) })
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let mut moved = Vec::new();
    let mut most = 0.0_f64;
    let promises = evidence.trial.promises.iter();
    for promise in promises {
        let shares = evidence.promised(repeat, promise);
        let measure = Measure::parse(&promise.measure);
        let (Some(shares), Some(Ok(grid))) = (shares, measure.map(|one| repeat.grid(one))) else {
            continue;
        };
        let names = |group: usize| evidence.groups[group];
        let (crossed, largest) = crossings(grid, &shares, promise.within, names);
        moved.extend(crossed);
        most = most.max(largest);
    }
    finding(&moved, most)
}

/// Groups whose share crossed the margin between the halves of a window, in words, and the largest
/// change of any.
pub(crate) fn crossings<'n>(
    grid: &Grid,
    shares: &[Expected],
    within: f64,
    name: impl Fn(usize) -> &'n str,
) -> (Vec<String>, f64) {
    let (mut moved, mut most) = (Vec::new(), 0.0_f64);
    for (group, expected) in shares.iter().enumerate() {
        let Some(change) = Change::of(grid, group) else { continue };
        let (one, other) = (change.first / expected.share, change.second / expected.share);
        most = most.max((other / one - 1.0).abs());
        if crosses(one, other, within) && change.is_sure(shares.len()) {
            moved.push(format!(
                "`{}` was off by {} in the first half of the window and by {} in the second",
                name(group),
                percent(one - 1.0),
                percent(other - 1.0)
            ));
        }
    }
    (moved, most)
}

/// What crossings come to.
pub(crate) fn finding(moved: &[String], most: f64) -> Finding {
    if moved.is_empty() {
        let most = percent(most);
        Finding::new(
            true,
            format!(
                "no share crossed the margin between the halves of the window; the largest change \
                 was {most}"
            ),
        )
    } else {
        Finding::new(false, some_of(moved, "; "))
    }
}

/// Within the margin in one half, and outside or on the other side in the other.
fn crosses(one: f64, other: f64, within: f64) -> bool {
    let side = |ratio: f64| match ratio - 1.0 {
        error if error > within => 1,
        error if error < -within => -1,
        _ => 0,
    };
    side(one) != side(other)
}

/// A group's share in both halves, and the standard error of their difference.
struct Change {
    first: f64,
    second: f64,
    error: f64,
}

impl Change {
    fn of(grid: &Grid, group: usize) -> Option<Self> {
        let length = grid.steps / (2 * PARTS);
        if length < 2 {
            return None;
        }
        let share = |from: usize, to: usize| {
            let (before, after) = (grid.row(from), grid.row(to));
            let all: f64 = after.iter().sum::<f64>() - before.iter().sum::<f64>();
            (all > 0.0).then(|| (after[group] - before[group]) / all)
        };
        let half = |from: usize| -> Option<(f64, f64)> {
            let starts = (0..PARTS).map(|part| from + part * length);
            let parts: Option<Vec<f64>> =
                starts.map(|start| share(start, start + length)).collect();
            let parts = parts?;
            let mean = parts.iter().sum::<f64>() / PARTS as f64;
            let squares: f64 = parts.iter().map(|part| (part - mean).powi(2)).sum();
            Some((mean, squares / (PARTS * (PARTS - 1)) as f64))
        };
        let (first, one) = half(0)?;
        let (second, other) = half(PARTS * length)?;
        Some(Self { first, second, error: (one + other).sqrt() })
    }

    fn is_sure(&self, groups: usize) -> bool {
        let sure = 1.0 - (1.0 - SURE) / groups.max(1) as f64;
        let quantile = t_quantile(sure, (PARTS - 1) as f64);
        (self.second - self.first).abs() > quantile * self.error
    }
}
