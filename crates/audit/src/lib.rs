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
mod owner;
mod protection;
mod reference;
mod rule;
mod rules;
mod sarif;
mod settings;
pub mod snapshot;
mod text;
mod tree;
mod value;
mod worth;

#[cfg(test)]
mod fake;

pub use document::{Audit, Protection, audit};
pub use effective::{Effective, Limit};
pub use finding::{Class, Finding, Reading};
pub use protection::{Child, Parent, effective};
pub use reference::reference;
pub use rule::Rule;
pub use rules::{all, find};
pub use sarif::sarif;
pub use snapshot::Snapshot;
pub use text::{explain, limits, text};
pub use worth::Worth;
