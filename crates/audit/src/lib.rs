//! What a live host's control groups were set to, against what can act: a pure function of a snapshot.
//!
//! [`Snapshot`] holds the raw texts of files, taken by `session` or read from a file; the rules of
//! the table find settings that have no effect, mean something else or are weakened; [`audit`] applies them
//! all. Nothing here performs I/O.

pub mod collect;
mod conversion;
mod disks;
mod document;
mod drift;
mod effective;
mod finding;
mod found;
mod fulfilment;
mod host;
mod known;
mod masks;
mod not_looked_at;
mod own;
mod owner;
mod page;
mod protection;
mod reference;
mod rule;
mod rules;
mod running_kernel;
mod settings;
pub mod snapshot;
mod textfile;
mod tree;
mod watched;
mod worth;
mod yaml;

#[cfg(test)]
mod tests;
#[cfg(test)]
use tests::fake;

pub use document::{Audit, Protection, audit};
pub use drift::{Change, Drift, drift};
pub use effective::{Effective, Limit};
pub use finding::{Class, Finding, Reading};
pub use fulfilment::{
    Fulfilment, Manifest, Place, Row, Standing, Told, asked_by_unit, fulfilment, kubelet_settings,
    manifest, unit_settings,
};
pub use known::{KNOWN, KnownBy, KnownOfKernel, Sign, Signs, known_of, signs};
pub use masks::Masks;
pub use own::{Membership, Own, own};
pub use owner::fair_part;
pub use page::{
    audit_page, change, counts, drift_page, explain, fairness_page, limits, own_page, told_page,
};
pub use protection::{Child, Parent, effective};
pub use reference::reference;
pub use rule::Rule;
pub use rules::{CPU_TIME, PRIORITY, all, find};
pub use running_kernel::{KnownFact, known_facts, known_lines};
pub use settings::{AMOUNTS, HOST_FILES, WATCHED, host_settings};
pub use snapshot::Snapshot;
pub use watched::{
    DiskRate, DiskSetting, DividedBy, LimitOf, LimitSetting, OwnSet, ProtectionSetting,
    WeightSetting, cpu_weights, groups_of, limit_settings, own_sets, protection_settings,
    weighted_disks,
};
pub use worth::Worth;
