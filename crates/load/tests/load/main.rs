//! `assay-load` as users run it.

mod graph500;
mod hierarchy;
mod memory;
mod odd_inputs;
