//! Settings of the units of a host that do not stand in the files of their groups.

use crate::finding::Reading;

/// A setting of an installed unit that does not stand in its group's file.
#[derive(Debug)]
pub(crate) struct Installed {
    pub(crate) group: String,
    /// The unit's file, and `CPUWeight=400`.
    pub(crate) origin: Reading,
    /// The controller, by its v2 name.
    pub(crate) controller: &'static str,
    pub(crate) became: Became,
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Became {
    /// systemd has nowhere to write it: the controller is on v1.
    NeverApplied,
    /// The controller is not enabled for the group.
    NotEnabled,
    /// The file says what holds while systemd starts or stops.
    AtStartup { file: &'static str, ordinary: Option<String> },
    /// The file says something else.
    Differs { file: &'static str, expected: String, how: String },
}
