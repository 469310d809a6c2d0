//! Tests of predictions through the public interface.
// A failure in a shared helper is a failure of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod known;
mod properties;
mod studies;
mod supported;
