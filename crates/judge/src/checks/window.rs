//! `window`: there is enough time common to all groups to say anything.

use super::{Evidence, Finding, Scope, ValidityCheck, of_each_repeat};
use crate::repeat::Repeat;
use assay_stats::Grid;

/// Less than this is not judged at all, seconds.
pub(crate) const LEAST_S: f64 = 2.0;

/// A sampler may be silent for so long, seconds, and miss this part of a window in all. More than
/// that nobody saw, and a straight line between two readings would make it look quiet.
const LONGEST_GAP_S: f64 = 1.0;
const MOST_MISSING: f64 = 0.05;

/// Sources that are read less often than once a second miss so many readings in a row, at most.
const READINGS: f64 = 3.0;

/// Fails on a window of less than two seconds, and where the sampler was silent. A number that a workload gives of
/// its own run needs no window at all.
pub(super) fn gate(evidence: &Evidence<'_>) -> ValidityCheck {
    let check = of_each_repeat("window", evidence, |repeat| find(evidence, repeat));
    ValidityCheck { check, scope: Scope::Sampled, proves: None }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let seconds = repeat.window_s();
    let mut text = format!(
        "{seconds:.1} s common to all groups after {:.1} s of warm-up (at least {LEAST_S:.0} s needed)",
        repeat.warm_up_s
    );
    let grids = evidence.promises.iter().filter_map(|(measure, _)| repeat.grid(*measure).ok());
    let silent = grids.filter_map(silence).next();
    if let Some(silent) = &silent {
        text = format!("{text}; the sampler {silent}");
    }
    Finding::new(silent.is_none() && seconds >= LEAST_S, text)
}

/// For how long nobody looked, where that is more than a straight line may bridge.
pub(crate) fn silence(grid: &Grid) -> Option<String> {
    let most = LONGEST_GAP_S.max(READINGS * grid.step_s());
    let silent = grid.longest_gap_s > most || grid.missing_s > MOST_MISSING * grid.seconds();
    silent.then(|| {
        format!("was silent for up to {:.1} s, {:.1} s in all", grid.longest_gap_s, grid.missing_s)
    })
}
