//! The same study on many hosts through Slurm, and their runs as one report.
//!
//! Slurm alone decides when a task runs: this room writes a job script, submits it as one array,
//! tells each task its node, and then reads. What a task says of itself is in files of a folder
//! that all hosts share; what it does not say any more (its node died), Slurm does.
//!
//! ```text
//! fleet.json, job.sh -> sbatch --array -> `assay fleet task` on each host -> tasks/NN/job-J/
//!                                              |-> turn, restore, run           |
//!                       one report  <-  FleetMerge  <-  collect  <-------+
//! ```

mod choose;
mod collect;
mod conclude;
mod digest;
mod document;
mod error;
mod folder;
mod host_lock;
mod limit;
mod merge;
mod script;
mod slurm;
mod spread;
mod state;
mod submit;
mod task;
mod traits;
mod watch;

pub use choose::{Choice, Chosen, choose};
pub use collect::{collect, write};
pub use conclude::{conclude, leave_open};
pub use document::{Fleet, LeftOut, Phase, SCHEMA, Submission, Task, TaskRecord, Torn};
pub use error::Error;
pub use folder::FleetFolder;
pub use limit::{Limit, limit};
pub use merge::FleetMerge;
pub use slurm::{Node, Slurm, SlurmTask, look as look_at_slurm};
pub use state::{TaskState, states};
pub use submit::submit;
pub use task::{TaskEnd, carry_out};
pub use traits::{differences, traits};
pub use watch::{Watcher, cancel, wait};
