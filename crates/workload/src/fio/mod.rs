//! fio: one process a group, released by a gate of Assay's own.

mod class;
mod job;
mod job_file;
mod log;
mod output;
mod start_barrier;
mod totals;

pub use class::{io_class, threads};
pub use job::{Job, Place, fraction, size_of};
pub use job_file::{JobFileError, Section, sections};
pub use log::parse_bandwidth_log;
pub use output::{Output, OutputError, parse_output};
pub use start_barrier::{GATE_FILE, gate_line, parse_gate_line};
pub use totals::{Spread, Totals, names, parse_totals, together};
