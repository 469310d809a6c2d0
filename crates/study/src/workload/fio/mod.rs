//! fio: one process per group, released at Assay's start barrier.

mod class;
mod job;
mod job_file;
mod log;
mod output;
mod start_barrier;
mod totals;

pub use class::{io_class, threads, uses_disk};
pub use job::{Job, Target, fraction, parse_size};
pub use job_file::{JobFileError, Section, sections, with_includes, with_variables};
pub use log::parse_bandwidth_log;
pub use output::{Output, OutputError, parse_output};
pub use start_barrier::{BARRIER_FILE, parse_barrier_line, wait_at};
pub use totals::{Totals, job_names, parse_totals, sum_jobs};
