//! Fuzzing of every reader of external input: a table of targets, a seeded mutator, and a loop that catches
//! panics.
//!
//! It runs on the stable toolchain and without instrumentation. The reader's answers replace coverage: an
//! input with a new answer is kept and mutated further.
#![allow(clippy::expect_used)]

mod corpus;
mod mutate;
mod random;
mod round;
mod target;

pub use round::{Limits, Panic, Round};
pub use target::{TARGETS, Target};
