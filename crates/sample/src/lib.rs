//! What the kernel really did, read at a fixed rate from descriptors that stay open.
//!
//! The sampler runs on a thread of its own and never makes a trial wait: a round that comes too
//! late is counted and left out. What each source costs is part of the result.

pub mod about;
mod doing;
mod first_io;
mod members;
mod place;
mod sampler;
mod seat;
mod source;
mod target;

pub use about::Choice;
pub use first_io::{FirstIo, IoCounter};
pub use sampler::{Outcome, Sampler};
pub use seat::Seat;
pub use source::{
    Depth, PERF_COLUMNS, Prepared, Rows, Source, UNCORE_COLUMNS, prepare, prepare_chosen,
};
pub use target::{
    CpuFile, DiskTarget, GroupTarget, IoFiles, MemoryFiles, ProcessTarget, Processes, Targets,
    ThrottleTarget,
};
