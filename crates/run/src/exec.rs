//! `assay exec`: one command under limits, in a group of its own in every hierarchy that its knobs
//! need, and a report on which limits were hit (docs/exec.md).

mod amount;
mod counters;
mod limits_hit;
mod peaks;
mod prepare;
mod program;
mod report;
mod request;
mod run;
mod settings;
mod supervise;
mod text;
mod usage;
mod watcher;

pub use limits_hit::{Binding, LimitHit};
pub use prepare::{Fault, Refused};
pub use program::NotRunnable;
pub use report::{Ended, LimitReport, Report, Survivors};
pub use request::{Leftover, PlacementOption, Request, Setting, parse_placement};
pub use run::{Failure, Outcome, exec, exec_watched};
pub use text::text;
pub use usage::{DeviceIo, Io, Peak, ResourceUsage, Stall, Throttling};
pub use watcher::Unwatched;
