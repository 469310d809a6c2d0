//! One command under limits, by hand: a group of its own in every hierarchy that its knobs need,
//! and what the kernel says afterwards about which of the limits bound (docs/exec.md).

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

pub use limits_hit::{Binding, LimitHit};
pub use prepare::{Refused, WhoseFault};
pub use program::NotRunnable;
pub use report::{Ended, Left, LimitReport, Report};
pub use request::{Leftover, PlaceOption, Request, Setting, place};
pub use run::{Failure, Outcome, exec};
pub use text::text;
pub use usage::{DeviceIo, Io, Peak, ResourceUsage, Stall, Throttling};
