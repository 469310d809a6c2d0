//! DAMON schemes that manage memory on a host.

use serde::{Deserialize, Serialize};

use crate::{Available, HostFacts};

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

/// The schemes of a host in one line.
#[must_use]
pub fn damon_schemes(host: &HostFacts) -> String {
    let schemes = match &host.damon {
        Available::NotAvailable(why) => return format!("not available: {why}"),
        Available::Value(schemes) if schemes.is_empty() => return "no active scheme".to_owned(),
        Available::Value(schemes) => schemes,
    };
    let describe = |scheme: &DamonScheme| {
        let thread = scheme.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        let effect = if scheme.evicts() {
            ", evicts pages that have not been accessed for a while"
        } else {
            ""
        };
        format!("{}{thread}{effect}", scheme.name)
    };
    schemes.iter().map(describe).collect::<Vec<_>>().join("; ")
}
