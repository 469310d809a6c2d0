//! One behaviour that the kernel documents.

use assay_kernel::Error;

use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::Outcome;

/// A promise of the kernel's documentation, and the function that puts it to the test.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Whose behaviour it is: a controller by its v2 name, or `core` for the files `cgroup.*`.
    pub controller: &'static str,
    /// The behaviour as a slug, `weights-divide-a-saturated-cpu`: its name in documents.
    pub behaviour: &'static str,
    /// The same as one sentence.
    pub promise: &'static str,
    /// Where the kernel documents it.
    pub documented: &'static str,
    /// What the host must have. The first need that names a controller or a hierarchy says where
    /// the case's groups are made first ([`Fixture::write`] and its like speak of that place).
    pub needs: &'static [Need],
    /// Makes groups, starts probes, looks at the effect. An error means that the case could not
    /// be carried out and becomes `void`; it is never taken for a broken promise.
    pub run: fn(&mut Fixture) -> Result<Outcome, Error>,
}
