//! `window`: enough time is common to all groups.

use assay_record::run_folder::WorkloadResult;
use assay_stats::Grid;

use super::{Evidence, Finding, Rule, Scope};
use crate::repeat::Repeat;

/// Shortest judged window in seconds.
pub(crate) const LEAST_S: f64 = 1.0;

/// Longest gap of the sampler in seconds, and largest missing part of a window, or as many seconds where that is more: a part
/// of a short start is less than two readings. Counters are cumulative, so that a gap hides when something happened, and how
/// much only at an end of the window; interpolation would make a long one look quiet.
const LONGEST_GAP_S: f64 = 1.0;
const MOST_MISSING: f64 = 0.05;
const MOST_MISSING_S: f64 = 0.5;

/// Longest gap in readings, for sources that are read less often than once a second.
const READINGS: f64 = 3.0;

/// Fails on a window of less than a second, and where the sampler was silent. Workload metrics
/// need no window.
pub(super) const WINDOW: Rule = Rule::each("window", Scope::Sampled, find);

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
    if let Some(first) = first_that_ended(repeat).filter(|_| seconds < LEAST_S) {
        text = format!(
            "{text}; `{}` of `{}` ended by itself: give it more to do, or let it go on until it is stopped \
             (`time_based` of fio)",
            first.workload, first.group
        );
    }
    Finding::new(silent.is_none() && seconds >= LEAST_S, text)
}

/// The workload that ended the window, if one did.
fn first_that_ended<'r>(repeat: &Repeat<'r>) -> Option<&'r WorkloadResult> {
    let workloads = repeat.record.workloads.iter().filter(|workload| workload.failure.is_none());
    let in_window = |ended: &u64| *ended <= repeat.record.stopped_ns;
    let ended = workloads.filter(|workload| workload.ended_ns.as_ref().is_some_and(in_window));
    ended.min_by_key(|workload| workload.ended_ns)
}

/// The gaps of the sampler, where they are too long to interpolate.
fn silence(grid: &Grid) -> Option<String> {
    let most = LONGEST_GAP_S.max(READINGS * grid.step_s());
    let missing = MOST_MISSING_S.max(MOST_MISSING * grid.seconds());
    let silent = grid.longest_gap_s > most || grid.missing_s > missing;
    silent.then(|| {
        format!("was silent for up to {:.1} s, {:.1} s in all", grid.longest_gap_s, grid.missing_s)
    })
}
