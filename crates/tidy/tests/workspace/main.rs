//! Tests that hold the workspace to ARCHITECTURE.md.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

mod features;
mod links;
mod manifests;
mod promises;
mod rooms;
mod sources;
mod supply;
mod tree;
