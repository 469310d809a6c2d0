//! The real tools: what is told to each, and how its own output becomes metrics.
//!
//! Pure throughout: this room writes no file and starts no process. It is given texts and
//! returns texts; the engine owns the processes. `registry` lists what may run; fio, with its job
//! files, has a module of its own.

pub mod amounts;
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
pub use kind::{Becomes, Gate, Key, Kind, Meaning, Program, Threads};
pub use metric::{Metric, Source};
pub use output::{CapturedOutput, Output};
pub use placeholders::{GIVEN, Placeholders, names_given};
pub use registry::{COMMAND, FIO, KINDS, NAMES, kind};
