//! What tests on the real kernel share: one at a time, a picture of everything that a run may
//! change, and skips that are counted. Used by tests only.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

pub mod browser;
mod picture;
mod turn;

pub use picture::{Picture, entries};
pub use turn::{Need, Turn, skip, turn};
