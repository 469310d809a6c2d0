//! Runs a plan: sets the host up through the ledger, starts every workload inside its group,
//! releases them at once, samples, stops them, and puts the host back.
//!
//! It knows neither statistics nor HTML; it leaves a run folder and returns.

mod at_start;
mod course;
mod decider;
mod disks;
mod failure;
mod footprint;
mod gate;
mod knobs;
mod later;
mod measure;
mod outcome;
mod overrides;
mod placed;
mod prepare;
mod processes;
mod queues;
mod recording;
mod repeat;
mod rights;
mod run;
mod sampling;
mod seat;
mod settings;
mod start;
mod targets;
mod watch;

pub use course::{Course, Turn};
pub use decider::{Decider, Progress, ToTheEnd};
pub use failure::Failure;
pub use footprint::footprint;
pub use run::{Finished, Observer, Request, run, run_course};
pub use sampling::{SampleRequest, Sampled, Whom, sample};
