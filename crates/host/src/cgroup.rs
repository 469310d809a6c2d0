//! Control groups of a run: created below one top group of the run in each hierarchy, set, read back,
//! filled and removed. A group that this run did not create is never touched.

pub mod inventory;
mod own;
mod tree;
mod ungrouped;

pub use tree::Tree;
