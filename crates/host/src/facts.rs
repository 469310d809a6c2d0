//! Facts about a host, as plain data.
//!
//! `host` collects these facts, `plan` decides with them, `run-folder` stores them next to the
//! samples and `report` prints them. This module performs no I/O, so that a plan can be made for any
//! machine with known facts.

mod available;
mod cgroup;
mod disk;
mod machine;
pub mod owner;
mod topology;

pub use available::Available;
pub(crate) use cgroup::ONLY_ON_V1;
pub use cgroup::{CORE, CgroupLayout, Controller, Hierarchy, Layout, UsedHierarchy};
pub use disk::{Disk, Holder, Partition, Scheduler, find_disk};
pub use machine::{Cache, Cpus, HostFacts, NULL_BLK_REMEDY, Node, NodeAccess, Requirement, Tool};
pub use topology::{memory_access, topology_lines};
