//! Running: studies and commands, from what the user named to what is recorded and judged.
//!
//! [`runner`] executes a plan, [`exec`] one command under limits. The modules beside them are what commands do around
//! these: load a study, plan it, refuse or run it, judge it. Nothing is printed; messages and progress go to an
//! [`observer::Observer`], the host is reached through a [`context::Context`].

pub mod before_run;
pub mod blamed_command;
pub mod context;
pub mod decided;
pub mod error_record;
pub mod exec;
pub mod execute;
mod existing;
pub mod guest_disk;
pub mod judged_command;
pub mod limited_command;
pub mod load;
pub mod observer;
pub mod overrides;
pub mod pace;
pub mod plan_document;
pub mod plan_text;
pub mod prepare;
pub mod progress;
pub mod recorded_run;
pub mod recording;
pub mod restore;
pub mod runner;

// What is below, so that the support of tests can be included by other crates, too.
#[cfg(test)]
extern crate self as assay_run;

#[cfg(test)]
#[path = "../tests/support/replay.rs"]
mod replay;
#[cfg(test)]
#[path = "../tests/support/transcript.rs"]
mod transcript;
