//! The eBPF programs: attaches them, and reads what they counted.

pub(crate) mod group_tree;
pub mod requests;
pub mod stalls;
pub mod waits;
mod watch_error;
