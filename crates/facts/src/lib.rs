//! What a host is, as plain data.
//!
//! `host` reads these facts, `plan` decides with them, `record` keeps them beside the samples
//! and `report` prints them. Nothing in this room performs I/O, so that a plan can be made for
//! any machine whose facts someone has written down.

mod available;
mod cgroup;
mod damon;
mod disk;
mod machine;
mod topology;

pub use available::Available;
pub use cgroup::{CORE, CgroupLayout, Controller, Hierarchy, Home, Layout, ONLY_ON_V1};
pub use damon::{DamonScheme, damon_schemes};
pub use disk::{Disk, Holder, Scheduler};
pub use machine::{Cache, Cpus, HostFacts, NULL_BLK_REMEDY, Node, NodeAccess, Requirement, Tool};
pub use topology::{Cluster, NodeParts, memory_access, topology};
