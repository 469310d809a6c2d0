//! What tests on the real kernel share: one at a time, a picture of everything that a run may
//! change, skips that are counted, faults to inject, trees of files in place of a host, and hosts made
//! up to plan for. Used by tests and by the bench only.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

pub mod browser;
mod fault;
mod host_lock;
mod host_snapshot;
pub mod hosts;
mod tree;

pub use fault::{Fault, Named, Outcome, keep};
pub use host_lock::{
    HostLock, Need, busy_host_lock, host_lock, is_for_guests, is_for_later, skip, with_host_lock,
};
pub use host_snapshot::{HostSnapshot, entries};
pub use tree::put;
