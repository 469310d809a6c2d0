//! Which control-group hierarchies are mounted, and who serves which controller.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The three layouts that hosts are found in (cgroups(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Every controller on cgroup v1 hierarchies; no cgroup2 mount.
    V1,
    /// One cgroup2 hierarchy for all.
    V2,
    /// cgroup2 is mounted, but some controllers are held by v1 hierarchies.
    Hybrid,
    /// No control groups are mounted.
    None,
}

/// Where a controller lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hierarchy {
    /// A v1 hierarchy mounted here.
    V1(PathBuf),
    /// The cgroup2 hierarchy mounted here.
    V2(PathBuf),
    /// Nowhere: why (not built in, not mounted, disabled at boot).
    Absent(String),
}

/// One controller and its home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// Where it lives.
    pub hierarchy: Hierarchy,
    /// This process's own group below that mount, as /proc/self/cgroup gives it (`/` at the top).
    pub own_group: String,
}

/// The control-group side of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLayout {
    /// Which of the three layouts this is.
    pub layout: Layout,
    /// Where cgroup2 is mounted, if it is.
    pub v2_mount: Option<PathBuf>,
    /// Every known controller by its v2 name (`io`, not `blkio`; `cpu`; `memory`; `freezer` only on v1).
    /// v1's `cpuacct` is listed under its own name.
    pub controllers: BTreeMap<String, Controller>,
}
