//! Tools that run as workloads: their command lines, and how their output becomes metrics.
//!
//! Pure throughout: this module writes no file and starts no process; the runner does. `registry`
//! lists the kinds; fio, with its job files, has a module of its own.

mod arguments;
pub mod fio;
mod generator;
mod invocation;
mod kind;
mod kinds;
mod metric;
mod options;
mod output;
mod placeholders;
mod registry;

pub use arguments::{Argument, Value};
pub use invocation::Invocation;
pub use kind::{Key, Kind, Meaning, Program, Rendering, Threads, WaitMethod};
pub use metric::{Metric, Source};
pub use output::{CapturedOutput, Output, excerpt};
pub use placeholders::{PLACEHOLDERS, Placeholders, has_placeholder};
pub use registry::{COMMAND, FIO, KINDS, NAMES, kind};
