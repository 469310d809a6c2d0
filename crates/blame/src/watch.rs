//! The eBPF programs: attaches them, and reads what they counted.

mod group_tree;
pub mod requests;
pub mod waits;
mod watch_error;
