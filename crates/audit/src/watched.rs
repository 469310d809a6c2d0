//! What the groups of a host were configured to, for what compares it with what they get while the host is watched.

mod cpu_weights;
mod disks;
mod exclusive_cpus;
mod limits;
mod protections;

pub use cpu_weights::{WeightSetting, cpu_weights, groups_of};
pub use disks::{DiskSetting, DividedBy, weighted_disks};
pub use exclusive_cpus::{OwnSet, own_sets};
pub use limits::{DiskRate, LimitOf, LimitSetting, limit_settings};
pub use protections::{ProtectionSetting, protection_settings};
