//! What DAMON does to memory by itself on a host.

use serde::{Deserialize, Serialize};

use crate::{Available, HostFacts};

/// One scheme that is on (Documentation/admin-guide/mm/damon/usage.rst).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamonScheme {
    /// `kdamond0.0.0:pageout`, which is its subject among the samples of `damon`.
    pub name: String,
    /// What it does to memory that fits its pattern: `pageout`, `stat`, `migrate_cold`.
    pub action: String,
    /// The thread that does it, where the kernel tells.
    pub pid: Option<u32>,
}

impl DamonScheme {
    /// Whether it takes pages away, so that what a group had in memory is there no longer.
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
        Available::Value(schemes) if schemes.is_empty() => return "no scheme is on".to_owned(),
        Available::Value(schemes) => schemes,
    };
    let says = |scheme: &DamonScheme| {
        let thread = scheme.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
        let takes =
            if scheme.evicts() { ", takes pages that nobody touched for a while" } else { "" };
        format!("{}{thread}{takes}", scheme.name)
    };
    schemes.iter().map(says).collect::<Vec<_>>().join("; ")
}
