//! What a live host's control groups were set to, against what can act: a pure function of a snapshot.
//!
//! [`Snapshot`] holds the raw texts of files, taken by `session` or read from a file; the rules of
//! the table find settings that have no effect, mean something else or are weakened; [`audit`] applies them
//! all. Nothing here performs I/O.

mod conversion;
mod disks;
mod document;
mod drift;
mod effective;
mod finding;
mod fulfilment;
mod host;
mod installed;
mod known;
mod limit_settings;
mod not_looked_at;
mod own;
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
mod weight_settings;
mod weighted_disks;
mod worth;
mod yaml;

#[cfg(test)]
mod fake;

pub use document::{Audit, Protection, audit};
pub use drift::{Change, Drift, drift};
pub use effective::{Effective, Limit};
pub use finding::{Class, Finding, Reading};
pub use fulfilment::{
    Fulfilment, Manifest, Place, Row, Standing, Told, fulfilment, kubelet_settings, manifest,
    unit_settings,
};
pub use known::{KNOWN, KnownBy, KnownOfKernel, Sign, Signs, known_of, signs};
pub use limit_settings::{DiskRate, LimitOf, LimitSetting, limit_settings};
pub use own::{Membership, Own, own};
pub use own_sets::{OwnSet, own_sets};
pub use owner::fair_part;
pub use protection::{Child, Parent, effective};
pub use protection_settings::{ProtectionSetting, protection_settings};
pub use reference::reference;
pub use rule::Rule;
pub use rules::{CPU_TIME, all, find};
pub use settings::{HOST_FILES, WATCHED, host_settings};
pub use snapshot::Snapshot;
pub use text::{change, counts, drift_text, explain, limits, own_text, text, told_text};
pub use weight_settings::{WeightSetting, cpu_groups, cpu_weights};
pub use weighted_disks::{DiskSetting, DividedBy, io_groups, weighted_disks};
pub use worth::Worth;
