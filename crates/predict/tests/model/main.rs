//! What studies are predicted to do, seen from outside.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod known;
mod laws;
mod properties;
mod studies;
mod toy;
