//! DAMON schemes that manage memory on a host.

use serde::{Deserialize, Serialize};

/// An active scheme (Documentation/admin-guide/mm/damon/usage.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamonScheme {
    /// `kdamond0.0.0:pageout`, its subject in the samples of `damon`.
    pub name: String,
    /// Its action on memory that matches its pattern: `pageout`, `stat`, `migrate_cold`.
    pub action: String,
    /// The thread that runs it, if the kernel reports it.
    pub pid: Option<u32>,
}

impl DamonScheme {
    /// Whether it evicts pages, so that memory of a group may be gone when it is accessed again.
    #[must_use]
    pub fn evicts(&self) -> bool {
        self.action == "pageout"
    }
}
