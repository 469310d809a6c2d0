//! What a live host's control groups were set to, against what can act: a pure function of a snapshot.
//!
//! [`Snapshot`] holds the raw texts of files, taken by `session` or read from a file; the rules of
//! the table find settings that cannot act, mean something else or are weakened; [`audit`] applies them
//! all. Nothing here performs I/O.

pub mod conversion;
mod devices;
mod document;
mod effective;
mod finding;
mod limit_settings;
mod own_sets;
mod owner;
mod protection;
mod protection_settings;
mod reference;
mod rule;
mod rules;
mod settings;
pub mod snapshot;
mod text;
mod tree;
mod value;
mod weight_settings;
mod weighted_disks;
mod worth;

#[cfg(test)]
mod fake;

pub use document::{Audit, Protection, audit};
pub use effective::{Effective, Limit};
pub use finding::{Class, Finding, Reading};
pub use limit_settings::{DiskRate, LimitOf, LimitSetting, limit_settings};
pub use own_sets::{OwnSet, own_sets};
pub use protection::{Child, Parent, effective};
pub use protection_settings::{ProtectionSetting, protection_settings};
pub use reference::reference;
pub use rule::Rule;
pub use rules::{all, find};
pub use snapshot::Snapshot;
pub use text::{explain, limits, text};
pub use weight_settings::{WeightSetting, cpu_groups, cpu_weights};
pub use weighted_disks::{DiskSetting, DividedBy, io_groups, weighted_disks};
pub use worth::Worth;
