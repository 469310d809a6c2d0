//! Explanations and searches of synthetic runs with known truth.
// Failures in shared code are failures of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod explained;
mod explained_chance;
mod ranked;
mod single_round;
#[allow(dead_code, reason = "the judge's tests use more of it")]
#[path = "../../../judge/tests/judge/synthetic.rs"]
mod synthetic;
mod tune;
