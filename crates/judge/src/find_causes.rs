//! Where causes come from. A verdict stands without them; who judges a run says what looks for them.

use assay_record::run_folder::PromiseRecord;
use assay_record::terms::{Measure, PlacementMeasure};

use crate::estimates::Estimates;
use crate::placement::PlacedWorkload;
use crate::subject::Subject;
use crate::verdict::{Cause, Proof, Verdict};

/// Finds why a promise was not kept. Those of the catalogue are in the crate `cause`.
pub trait FindCauses {
    /// Causes of a promise with this verdict about means, proven ones first, and what events in the kernel say of them.
    fn of_means(
        &self,
        subject: &Subject<'_>,
        promise: (&PromiseRecord, Measure),
        numbers: Option<&Estimates>,
        verdict: Verdict,
    ) -> (Vec<Cause>, Vec<Proof>);

    /// Causes of a broken promise about a metric of a workload.
    fn of_metric(&self, subject: &Subject<'_>) -> Vec<Cause>;

    /// Causes of a broken promise about a placement, by the workload that broke it.
    fn of_placement(&self, seen: &PlacedWorkload<'_>, what: PlacementMeasure) -> Vec<Cause>;
}

/// Looks for none: for looks at a run, of which only the verdict counts.
pub struct NoCauses;

impl FindCauses for NoCauses {
    fn of_means(
        &self,
        _: &Subject<'_>,
        _: (&PromiseRecord, Measure),
        _: Option<&Estimates>,
        _: Verdict,
    ) -> (Vec<Cause>, Vec<Proof>) {
        (Vec::new(), Vec::new())
    }

    fn of_metric(&self, _: &Subject<'_>) -> Vec<Cause> {
        Vec::new()
    }

    fn of_placement(&self, _: &PlacedWorkload<'_>, _: PlacementMeasure) -> Vec<Cause> {
        Vec::new()
    }
}
