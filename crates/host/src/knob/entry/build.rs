//! Constructors for entries of the table.

use super::{Counterpart, Knob, Role, Unit};
use crate::knob::file::File;
use crate::knob::range::ValueRange;

/// A file that keeps what is written.
pub(crate) const fn setting(
    name: &'static str,
    controller: &'static str,
    unit: Unit,
    range: ValueRange,
) -> Knob {
    entry(name, controller, Role::Setting, unit, range)
}

/// A file that reports something.
pub(crate) const fn reading(name: &'static str, controller: &'static str, unit: Unit) -> Knob {
    entry(name, controller, Role::Reading, unit, ValueRange::Text)
}

/// A file that triggers an action.
pub(crate) const fn action(
    name: &'static str,
    controller: &'static str,
    unit: Unit,
    range: ValueRange,
) -> Knob {
    entry(name, controller, Role::Action, unit, range)
}

const fn entry(
    name: &'static str,
    controller: &'static str,
    role: Role,
    unit: Unit,
    range: ValueRange,
) -> Knob {
    Knob {
        name,
        controller,
        role,
        unit,
        range,
        v2: None,
        v1: None,
        counterpart: Counterpart::SameName,
        about: "",
        source: "",
    }
}

impl Knob {
    pub(crate) const fn v2(self, file: File) -> Self {
        Self { v2: Some(file), ..self }
    }

    pub(crate) const fn v1(self, file: File) -> Self {
        Self { v1: Some(file), ..self }
    }

    /// The same file on both versions.
    pub(crate) const fn both(self, file: File) -> Self {
        Self { v1: Some(file), v2: Some(file), ..self }
    }

    /// Sets the files of the other version with the same meaning.
    pub(crate) const fn as_files(self, files: &'static [&'static str]) -> Self {
        Self { counterpart: Counterpart::Files(files), ..self }
    }

    /// Sets other means on the other version.
    pub(crate) const fn by_means(self, means: &'static str) -> Self {
        Self { counterpart: Counterpart::Means(means), ..self }
    }

    /// Sets the reason why the other version has no counterpart.
    pub(crate) const fn without_counterpart(self, why: &'static str) -> Self {
        Self { counterpart: Counterpart::Nothing(why), ..self }
    }

    pub(crate) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}
