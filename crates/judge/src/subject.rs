//! What all promises of a trial are judged with.

use assay_facts::HostFacts;
use assay_run_folder::TrialRecord;
use assay_verdict::wording::together;

use crate::checks::{Scope, ValidityCheck, window};
use crate::reason;
use crate::repeat::Repeat;

/// Inputs of all promises of a trial.
pub(crate) struct Subject<'r> {
    /// The machine.
    pub(crate) host: &'r HostFacts,
    /// Requests a second that iocost was configured with.
    pub(crate) configured_iops: Option<f64>,
    /// The trial.
    pub(crate) trial: &'r TrialRecord,
    /// Names of the measured groups.
    pub(crate) groups: &'r [&'r str],
    /// The judged repeats.
    pub(crate) repeats: &'r [Repeat<'r>],
    /// Repeats that do not count, as far as they have samples.
    pub(crate) left_out: &'r [Repeat<'r>],
    /// The validity checks.
    pub(crate) checks: &'r [ValidityCheck],
    /// The part of the errors that bounds may spend: 1, less where runs are judged together.
    pub(crate) part: f64,
    /// Unobserved repeats, and why.
    pub(crate) unseen: Option<&'r str>,
}

impl Subject<'_> {
    /// The failed checks with a concerned scope.
    pub(crate) fn failed(&self, concerns: impl Fn(Scope) -> bool) -> Vec<&ValidityCheck> {
        self.checks
            .iter()
            .filter(|validity| !validity.check.ok && concerns(validity.scope))
            .collect()
    }

    /// Passes if every check with a concerned scope holds.
    pub(crate) fn passes(&self, concerns: impl Fn(Scope) -> bool) -> Result<(), String> {
        let failed = self.failed(concerns);
        if failed.is_empty() { Ok(()) } else { Err(reason::failed_checks(&failed)) }
    }

    /// Repeats that do not count but have a sufficiently long window.
    pub(crate) fn left_out_with_samples(&self) -> impl Iterator<Item = &Repeat<'_>> {
        self.left_out.iter().filter(|one| one.window_s() >= window::LEAST_S)
    }

    /// Why a promise is not kept despite the counted repeats: unobserved repeats may have broken
    /// it, and a repeat that was left out is still a fact. `broken` describes the breach of a
    /// repeat, if any.
    pub(crate) fn objection(
        &self,
        broken: impl Fn(&Repeat<'_>) -> Option<String>,
    ) -> Option<String> {
        let unseen = self
            .unseen
            .map(|why| format!("the promise may have been broken in the missing part: {why}"));
        let left_out = self.left_out_with_samples().filter_map(|repeat| {
            let number = repeat.number;
            Some(format!("repeat {number}, which is left out, was broken: {}", broken(repeat)?))
        });
        together(unseen.into_iter().chain(left_out))
    }
}
