//! fio: one process per group, released at Assay's start barrier.

mod class;
mod job;
mod job_file;
mod output;
mod start_barrier;

pub use class::{io_class, threads, uses_disk};
pub use job::{Job, Target, fraction, parse_size};
pub use job_file::{JobFileError, Section, sections, with_includes, with_variables};
pub use output::{Output, OutputError, parse_output};
pub use start_barrier::{BARRIER_FILE, parse_barrier_line, wait_at};
