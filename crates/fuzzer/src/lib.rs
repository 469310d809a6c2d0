//! Fuzzing of readers of external input: a seeded mutator, a loop that catches panics, and the command line of the
//! programs that have a table of targets.
//!
//! It runs on the stable toolchain and without instrumentation. The reader's answers replace coverage: an
//! input with a new answer is kept and mutated further.
#![allow(clippy::expect_used)]

mod command_line;
mod corpus;
mod mutate;
mod random;
mod round;
mod target;

pub use command_line::run;
pub use round::{Limits, Panic, Round};
pub use target::{Reader, Target, answer};
