//! Runs a plan: sets the host up through the ledger, starts every workload inside its group, releases them
//! together, samples, stops them, and restores the host.
//!
//! It contains no statistics and no HTML; its result is a run folder.

mod at_start;
mod choose_sampler_affinity;
mod context;
mod delayed_start;
mod disks;
mod evidence;
mod failure;
mod footprint;
mod knobs;
mod measure;
mod outcome;
mod overrides;
mod patience;
mod placement;
mod prepare;
mod privileges;
mod processes;
mod queues;
mod recording;
mod repeat;
mod run;
mod sampling;
mod schedule;
mod settings;
mod start;
mod start_barrier;
mod stop_rule;
mod targets;
#[cfg(test)]
mod tests;
mod watch;

pub use context::{Observer, Request};
pub use failure::Failure;
pub use footprint::footprint;
pub use run::{Finished, run, run_schedule};
pub use sampling::{FinishedRecording, FollowTarget, SampleRequest, sample};
pub use schedule::{NextRepeat, Schedule};
pub use stop_rule::{NeverStop, StopRule};
