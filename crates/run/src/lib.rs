//! Runs a plan on this host, or one command within limits.

pub mod exec;
pub mod runner;
