//! Every reader of what comes from outside, given damaged input: a table of targets, a mutator that
//! draws from a seed, and a loop that catches what panics.
//!
//! It runs on the stable toolchain and without instrumented code. What stands for coverage is what a
//! reader answers: an input with an answer that no other had is kept and changed further.
// What a file of the corpus lacks is a failure of the test.
#![allow(clippy::expect_used)]

mod corpus;
mod mutate;
mod random;
mod round;
mod target;

pub use round::{Found, Limits, Round};
pub use target::{TARGETS, Target};
