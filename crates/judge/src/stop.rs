//! When a trial ends.
//!
//! With `stop = "decided"` a trial ends at the first of the looks of the rule ([`LOOKS`]) that decides it. A
//! look judges what the verdict would be if the run ended there, so that both are the same.

use crate::verdict::Verdict;
use assay_record::run_folder::{Manifest, StopRecord};
use assay_stats::rule::LOOKS;

use crate::subject::Subject;
use crate::trial_value::measures_of_run;
use crate::{NoCauses, Samples, judge_one, judge_so_far};

/// Whether a trial ends before all planned repeats: it may, a look is due, and that decides. Where the study compares
/// trials, all of them end after the same round, and only if the comparisons are decided, too.
#[must_use]
pub fn is_enough(manifest: &Manifest, number: usize, samples: &Samples) -> bool {
    let Some(trial) = manifest.trials.get(number) else { return false };
    if trial.stop != StopRecord::Decided {
        return false;
    }
    let is_due = |number| is_due(manifest, number, samples);
    let is_decided = |verdict: Verdict| verdict != Verdict::Undecided;
    if manifest.comparisons.is_empty() {
        let of_trial = samples.get(number).map_or(&[][..], Vec::as_slice);
        return !trial.promises.is_empty()
            && is_due(number)
            && judge_one(manifest, number, of_trial).is_some_and(|one| is_decided(one.verdict));
    }
    let round = trial.repeats.len();
    // All end together, though of some more repeats may count than of others.
    manifest.trials.iter().all(|other| other.repeats.len() == round)
        && (0..manifest.trials.len()).any(is_due)
        && {
            let judged = judge_so_far(manifest, samples, &NoCauses);
            let promising = judged.trials.iter().filter(|one| !one.promises.is_empty());
            promising.map(|one| one.verdict).all(is_decided)
                && judged.comparisons.iter().all(|one| is_decided(one.verdict))
        }
}

/// Whether so many repeats count as a look is taken after.
fn is_due(manifest: &Manifest, number: usize, samples: &Samples) -> bool {
    let trial = &manifest.trials[number];
    let of_trial = samples.get(number).map_or(&[][..], Vec::as_slice);
    trial.repeats.len() >= LOOKS[0] && {
        let also = measures_of_run(manifest);
        LOOKS.contains(&Subject::new(manifest, trial, of_trial, &also).counted)
    }
}
