//! What watches a command of `exec`, and what it is told.

use std::path::Path;

use assay_host::Watcher;
use assay_sys::kernel::Error;

/// Observes nothing.
#[derive(Debug)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn begin(&mut self, _: Option<&Path>) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self) {}
}

/// What a watcher is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// The command runs; or it was told to end.
    Runs { is_ending: bool },
    /// It has ended.
    Ended,
}
