//! Groups and knobs, on fake hosts and on this one.

mod device_program;
mod inventory;
mod knob_table;
mod many_groups;
