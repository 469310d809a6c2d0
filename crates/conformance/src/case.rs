//! A single documented kernel behaviour.

use assay_kernel::Error;

use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::Outcome;

/// A promise of the kernel's documentation and the function that tests it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The controller by its v2 name, or `core` for the files `cgroup.*`.
    pub controller: &'static str,
    /// The behaviour as a slug, `weights-divide-a-saturated-cpu`: its name in documents.
    pub behaviour: &'static str,
    /// The behaviour in one sentence.
    pub promise: &'static str,
    /// Where the kernel documents it.
    pub documented: &'static str,
    /// Host requirements. The first need that names a controller or a hierarchy decides the
    /// hierarchy whose groups [`Fixture::write`] and similar methods use.
    pub needs: &'static [Need],
    /// Creates groups, starts probes and observes the effect. An error means that the case could
    /// not be carried out and becomes `void`, never a broken promise.
    pub run: fn(&mut Fixture) -> Result<Outcome, Error>,
}
