//! Groups and knobs, on fake hosts and on this one.

mod check_knob_table;
mod device_program;
mod inventory;
mod many_groups;
