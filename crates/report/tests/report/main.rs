//! Tests of reports of synthetic runs through the public interface.
// A panic in shared test code is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod cases;
mod comparison;
mod fixture;
mod live;
mod nodes;
mod page;
mod policy;
mod sampling;
mod sar;
mod screens;
mod terminal;
mod tuning;
mod vendored;
mod waiting;
