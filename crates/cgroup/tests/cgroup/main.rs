//! Groups and knobs, on fake hosts and on this one.

mod device_program;
mod inventory;
mod knobs_check;
mod many_groups;
