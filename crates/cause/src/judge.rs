//! Judging with the causes of the catalogue.

use assay_judge::estimates::Estimates;
use assay_judge::placement::PlacedWorkload;
use assay_judge::subject::Subject;
use assay_judge::verdict::{Cause, Judgement, Proof, Verdict};
use assay_judge::{FindCauses, Samples};
use assay_record::run_folder::{Manifest, PromiseRecord};
use assay_record::terms::{Measure, PlacementMeasure};

use crate::causes::{self, placement};

/// All causes of the catalogue.
struct Catalogue;

impl FindCauses for Catalogue {
    fn of_means(
        &self,
        subject: &Subject<'_>,
        (promise, measure): (&PromiseRecord, Measure),
        numbers: Option<&Estimates>,
        verdict: Verdict,
    ) -> (Vec<Cause>, Vec<Proof>) {
        causes::find(subject, promise, measure, numbers, verdict)
    }

    fn of_metric(&self, subject: &Subject<'_>, promise: &PromiseRecord) -> Vec<Cause> {
        causes::of_metric(subject, promise)
    }

    fn of_placement(&self, seen: &PlacedWorkload<'_>, what: PlacementMeasure) -> Vec<Cause> {
        placement::find(seen, what)
    }
}

/// Judges a run in progress by its data so far; repeats to come do not count as missing.
#[must_use]
pub(crate) fn judge_so_far(manifest: &Manifest, samples: &Samples) -> Judgement {
    assay_judge::judge_so_far(manifest, samples, &Catalogue)
}

/// Judges a run that is over, early or not.
#[must_use]
pub fn judge(manifest: &Manifest, samples: &Samples) -> Judgement {
    assay_judge::judge(manifest, samples, &Catalogue)
}

/// Judges the starts of several runs of one study together; see [`assay_judge::judge_together`].
#[must_use]
pub fn judge_together(runs: &[(&Manifest, &Samples)]) -> Option<Judgement> {
    assay_judge::judge_together(runs, &Catalogue)
}
