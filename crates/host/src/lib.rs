//! The machine under test: its facts, its fitness for a study, and every change made to it, recorded
//! before it is made.
//!
//! This crate starts no workloads. It runs a few system programs (`mkfs`, `blkid`, `sfdisk`) to prepare
//! scratch disks, and queries program versions.

mod collect;
mod command;
mod container_name;
mod freezer;
mod owners;
mod poll_until;
mod preflight;
mod watcher;

pub mod ledger;
pub mod scratch;

pub mod cgroup;
pub mod facts;
pub mod knob;

pub use collect::{gather, groups_and_cpus, locate_tools, machine, weight_mode};
pub use command::find as find_program;
pub use freezer::{describe_survivor, is_frozen};
pub use ledger::{
    ChangeReport, Ledger, Replaced, Unfinished, restore_all, set_aside, start_stand_in, state_dir,
    unfinished,
};
pub use owners::Owners;
pub use preflight::requirements;
pub use watcher::{Next, Watcher};
