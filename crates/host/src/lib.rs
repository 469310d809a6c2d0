//! The machine under test: what it is, whether it can do what is asked, and every change made to
//! it, written down before it is made.
//!
//! This room starts no workloads. It runs a few programs of the system (`mkfs`, `blkid`,
//! `sfdisk`) to prepare scratch disks, and asks programs for their versions.

mod command;
mod facts;
mod poll_until;
mod preflight;

pub mod ledger;
pub mod scratch;

pub use command::find as find_program;
pub use facts::{gather, kernel, knobs, look_for, machine};
pub use ledger::{
    ChangeReport, Ledger, Unfinished, lock_file, private_state, restore_all, set_aside, state_dir,
    unfinished,
};
pub use preflight::requirements;
