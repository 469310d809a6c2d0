//! Explanations and searches of made-up runs, whose truth is known.
// A failure in what the tests share is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod explained;
mod explained_chance;
#[allow(dead_code, reason = "the judge's tests make up more than these do")]
#[path = "../../../judge/tests/judge/synthetic.rs"]
mod synthetic;
mod tune;
