//! The program as a library: running, judging, explaining, tuning and comparing studies.
//!
//! Each function combines the crates below it and returns a value; nothing is printed. Messages and
//! progress go to an [`Observer`], the host is reached through a [`Context`], and a failure is an
//! [`Error`] with the exit code that the command line gives it.

mod compare;
mod experiment;
mod explain;
mod iocost;
mod tune;

#[cfg(test)]
#[path = "../../run/tests/support/replay.rs"]
mod replay;
#[cfg(test)]
mod statements_tests;
#[cfg(test)]
#[path = "../../run/tests/support/transcript.rs"]
mod transcript;

pub use compare::{
    Interleaved, Sides, compare, compare_interleaved, compare_levels_of, compare_with_baseline,
    newest_run,
};
pub use explain::{ExplainOptions, Explained, cause_names, codes, explain, explain_code, is_code};
pub use iocost::{IoCostMeasured, IoCostOptions, measure_iocost};
pub use tune::{TuneOptions, Tuned, tune};
