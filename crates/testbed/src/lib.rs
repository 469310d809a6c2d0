//! What tests on the real kernel share: one at a time, a picture of everything that a run may
//! change, skips that are counted, faults to inject, trees of files in place of a host, and hosts made
//! up to plan for. Used by tests and by the bench only.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

pub mod browser;
mod fault;
pub mod hosts;
mod picture;
mod tree;
mod turn;

pub use fault::{Fault, Named, Outcome, keep};
pub use picture::{Picture, entries};
pub use tree::put;
pub use turn::{Need, Turn, between_turns, busy_turn, is_for_guests, is_for_later, skip, turn};
