//! Runs one study on many hosts and judges the runs side by side.
//!
//! Slurm decides when and where a task runs: this crate writes a job script, submits it as one array, and later
//! reads the run folders that the tasks have left in a shared folder. It keeps no state of its own: a task with a
//! verdict is done, and any other one can be submitted again.
//!
//! ```text
//! fleet.json, job.sh -> sbatch --array -> `assay run` on each node -> nodes/NODE/JOB_TASK/
//!                                        one report  <-  collect  <--------+
//! ```

mod collect;
mod conclude;
mod error;
mod folder;
pub mod job;
mod limit;
mod merge;
mod nodes;
mod plan_digest;
mod slurm;
mod spread;
mod submit;
mod traits;

pub use collect::{CopySources, collect, write};
pub use conclude::{conclude, leave_open};
pub use error::Error;
pub use folder::{Fleet, FleetFolder, SCHEMA};
pub use limit::{Limit, limit};
pub use merge::FleetMerge;
pub use nodes::{Choice, Chosen, choose};
pub use plan_digest::plan_digest;
pub use slurm::{
    Node, Queue, Queued, cancel, expand, find, nodes as parse_nodes, queue, queued as parse_queue,
    usable_nodes,
};
pub use submit::{Script, submit};
pub use traits::{differences, traits};
