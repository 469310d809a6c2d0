//! `assay-load` from the command line.

mod graph500;
mod hierarchy;
mod memory;
mod odd_inputs;
