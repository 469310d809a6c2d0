//! Runs one study on many hosts through Slurm and merges the runs into one report.
//!
//! Slurm alone decides when a task runs: this crate writes a job script, submits it once for each node,
//! and then reads the results. Tasks report in files of a shared folder; if a task stops reporting (its node died), Slurm's state is used.
//!
//! ```text
//! fleet.json, job.sh -> sbatch --nodelist -> `assay fleet task` on each host -> tasks/NN/job-J/
//!                                              |-> host lock, restore, run      |
//!                       one report  <-  FleetMerge  <-  collect  <--------------+
//! ```

mod choose;
mod collect;
mod conclude;
mod copies;
mod digest;
mod document;
mod error;
mod folder;
mod host_lock;
mod limit;
mod merge;
mod plan_digest;
mod program;
mod run_errors;
mod script;
mod slurm;
mod spread;
mod state;
mod submit;
mod task;
mod task_runs;
mod traits;
mod watch;

pub use choose::{Choice, Chosen, choose};
pub use collect::{collect, write};
pub use conclude::{conclude, leave_open};
pub use copies::{Copies, CopySources, take_copies};
pub use document::{
    Fleet, LeftOut, Phase, Refused, SCHEMA, SplitPromise, Submission, Task, TaskRecord,
};
pub use error::Error;
pub use folder::FleetFolder;
pub use limit::{Limit, limit};
pub use merge::FleetMerge;
pub use plan_digest::plan_digest;
pub use slurm::{Node, Slurm, SlurmTask, parse_all as parse_slurm_output};
pub use state::{TaskState, states};
pub use submit::submit;
pub use task::{TaskEnd, carry_out};
pub use traits::{differences, traits};
pub use watch::{Watcher, cancel, wait};
