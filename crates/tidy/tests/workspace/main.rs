//! Tests that check the workspace against ARCHITECTURE.md.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

mod circles;
mod features;
mod layers;
mod links;
mod manifests;
mod pages;
mod promises;
mod sources;
mod supply;
mod tree;
mod waits;
