//! What the codes of causes in verdict.json mean: the types of the catalogue, and its entries of causes that
//! a validity check or a record of the kernel proves. Suspected ones are documented where they are looked
//! for, in `judge`.

mod disk;
mod elsewhere;
mod expect;
mod placement;
mod processor;
mod schedulers;

pub use expect::{Expect, PredictedEffect, SAME_ERROR};

/// How a cause is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// This validity check fails, which proves the cause.
    ValidityCheck(&'static str),
    /// The record fits; only an intervention proves it.
    Suspicion,
    /// Read directly from the kernel.
    Observed,
    /// No other cause fits.
    Rest,
}

/// One cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CauseEntry {
    /// Stable code, `C-REQUEST-POOL`.
    pub code: &'static str,
    /// What happens, in one sentence.
    pub what: &'static str,
    /// How it is detected.
    pub found_by: FoundBy,
    /// Its traces in the data.
    pub fingerprint: &'static str,
    /// What to change to test it, and how far the error should move.
    pub confirm: &'static str,
    /// The interventions of `assay explain` that test it, by name.
    pub tests: &'static [&'static str],
    /// What interventions do to the error under it, where that does not depend on the trial.
    pub effects: &'static [PredictedEffect],
    /// How to fix it.
    pub remedy: &'static str,
    /// Reference.
    pub source: &'static str,
}

/// Causes of disks, CPUs, placement and runs in general that need no suspicion.
pub fn proven() -> impl Iterator<Item = &'static CauseEntry> {
    let parts = [
        disk::ENTRIES,
        schedulers::ENTRIES,
        processor::ENTRIES,
        placement::ENTRIES,
        elsewhere::ENTRIES,
    ];
    parts.into_iter().flatten()
}
