//! What tests on the real kernel share: one at a time, a picture of everything that a run may
//! change, skips that are counted, and faults to inject. Used by tests and by the bench only.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

pub mod browser;
mod fault;
mod picture;
mod turn;

pub use fault::{Fault, Named, Outcome, keep};
pub use picture::{Picture, entries};
pub use turn::{Need, Turn, skip, turn};
