//! Runs one study on many hosts and judges the runs side by side.
//!
//! Slurm decides when and where a task runs, shows the tasks (squeue) and ends them (scancel): this crate writes a job
//! script, submits it, and later reads the run folders that the tasks have left in a shared folder. It keeps no state
//! of its own: a task with a verdict is done, and any other one can be submitted again.
//!
//! ```text
//! fleet.json, job.sh -> sbatch --array -> `assay run` on each node -> nodes/NODE/JOB_TASK/
//!                                        one report  <-  collect  <--------+
//! ```

mod collect;
mod conclude;
mod folder;
pub mod job;
mod limit;
mod merge;
mod plan_digest;
mod slurm;
mod spread;
mod submit;
mod traits;

pub use collect::{CopySources, collect, write};
pub use conclude::{conclude, leave_open};
pub use folder::{Fleet, FleetFolder, SCHEMA};
pub use limit::{Limit, limit};
pub use merge::FleetMerge;
pub use plan_digest::plan_digest;
pub(crate) use slurm::{expand, find};
pub use submit::{Script, submit};
pub use traits::{differences, traits};
