//! Shared test code for the real kernel: a host lock, a snapshot of what a test may have changed, counted skips,
//! faults to inject, fake file trees, and synthetic hosts for plans. Used by tests and by the bench only.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

pub mod browser;
mod fault;
mod host_lock;
mod host_snapshot;
pub mod hosts;
mod noise;
pub mod own;
mod silent_fs;
mod test_loop;
mod tree;

pub use fault::{Fault, Named, Outcome, keep};
pub use host_lock::{HostLock, Need, host_alone, host_lock, host_measured, is_quick, skip};
pub use host_snapshot::HostSnapshot;
pub use noise::Noise;
pub use silent_fs::SilentFs;
pub use test_loop::TestLoop;
pub use tree::{entries, put};
