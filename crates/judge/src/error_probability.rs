//! The error probability of a promise, divided among the looks at its trial (Bonferroni).

use assay_run_folder::{StopRecord, TrialRecord};

/// Number of repeats before the first look at a trial.
pub(crate) const FIRST_REPEATS: usize = 3;

/// The part of a promise's error probability available to the analysis of a trial. Older runs ended
/// a repeat once its verdict was reached, and recorded the remaining part; now whole trials are
/// examined.
pub(crate) fn part_of(trial: &TrialRecord) -> f64 {
    let looks = match (trial.stop, trial.planned_repeats) {
        (StopRecord::Precise, Some(planned)) if planned > FIRST_REPEATS => {
            planned - FIRST_REPEATS + 1
        }
        _ => 1,
    };
    let parts = trial.repeats.iter().filter_map(|repeat| repeat.looks);
    let parts = parts.filter(|looks| looks.judged_until_ns.is_none());
    let parts = parts.filter_map(|looks| looks.part.filter(|part| *part > 0.0));
    parts.fold(1.0 / looks as f64, f64::min).clamp(1e-6, 1.0)
}
