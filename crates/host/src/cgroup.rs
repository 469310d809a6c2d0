//! Control groups of a run: created below one top group of the run in each hierarchy, set, read back,
//! filled and removed. A group that this run did not create is never touched.

mod check_knob_table;
pub mod inventory;
mod own;
mod tree;
mod ungrouped;

pub use check_knob_table::{Difference, KnobTableCheck, check_knob_table};
pub use tree::Tree;
