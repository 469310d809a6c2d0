//! A single documented kernel behaviour.

use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::{Outcome, Stop};

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
    /// Creates groups, starts probes and observes the effect.
    pub run: Run,
    /// What it may do to the rest of the machine while it runs, said before; `None` if it is harmless.
    pub warning: Option<&'static str>,
}

impl Case {
    /// The same with this warning.
    pub(crate) const fn warning(self, warning: &'static str) -> Self {
        Self { warning: Some(warning), ..self }
    }
}

/// The function of a case. An error of the kernel means that the case could not be carried out and
/// becomes `void`, never a broken promise.
pub(crate) type Run = fn(&mut Fixture) -> Result<Outcome, Stop>;

/// What several cases have in common: the fields of [`Case`] with these names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Topic {
    controller: &'static str,
    documented: &'static str,
    needs: &'static [Need],
}

impl Topic {
    pub(crate) const fn new(
        controller: &'static str,
        documented: &'static str,
        needs: &'static [Need],
    ) -> Self {
        Self { controller, documented, needs }
    }

    /// The same with these requirements instead.
    pub(crate) const fn needing(self, needs: &'static [Need]) -> Self {
        Self { needs, ..self }
    }

    /// The same with this document instead.
    pub(crate) const fn documented_in(self, documented: &'static str) -> Self {
        Self { documented, ..self }
    }

    pub(crate) const fn case(
        self,
        behaviour: &'static str,
        promise: &'static str,
        run: Run,
    ) -> Case {
        let Self { controller, documented, needs } = self;
        Case { controller, behaviour, promise, documented, needs, run, warning: None }
    }
}
