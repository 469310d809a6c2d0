//! Device access control for cgroup v2 groups: cgroup v1 has files for it, v2 runs an eBPF program of
//! type BPF_PROG_TYPE_CGROUP_DEVICE attached to the group (Documentation/admin-guide/cgroup-v2.rst,
//! "Device controller"; 4.15).
//!
//! The program exists as long as the group: removing the group detaches it.

mod attach;
mod instructions;
mod rule;

pub use attach::{Attached, attach, attach_too, attached};
pub use rule::{DeviceRule, Verb};
