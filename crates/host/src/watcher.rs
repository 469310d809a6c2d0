//! Observing the group of a command while it runs.

use std::path::Path;
use std::time::Duration;

use assay_sys::kernel::Error;

use crate::Ledger;

/// Observes the command's group while the command runs.
pub trait Watcher {
    /// The group exists and is set, and the command has not started; `directory` is its directory in the
    /// hierarchy of the controller `cpu`. An error prevents the start.
    fn begin(&mut self, directory: Option<&Path>) -> Result<(), Error>;
    /// Called again and again while the command runs; `is_ending`: it was told to end. What is changed is in
    /// the command's ledger.
    fn poll(&mut self, _ledger: &mut Ledger, _is_ending: bool) -> Next {
        Next::Within(Duration::MAX)
    }
    /// The command has ended, and some of what it left may still run.
    fn command_ended(&mut self, _ledger: &mut Ledger) {}
    /// All that it left has ended.
    fn end(&mut self);
}

/// What a [`Watcher`] wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// To be called again after this time at the latest.
    Within(Duration),
    /// That the command ends: it is sent SIGTERM, and SIGKILL after 5 s.
    Stop,
}
