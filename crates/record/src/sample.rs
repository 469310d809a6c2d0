//! Samples kernel counters at a fixed rate through descriptors that stay open.
//!
//! The sampler runs on a thread of its own and never delays a trial: a round that would be too late is
//! counted and skipped. The cost of each source is part of the result.

mod activity;
mod first_io;
mod nodes;
mod process_tracker;
pub mod registry;
mod sampler;
mod sampler_affinity;
mod source;
mod target;

pub use first_io::{FirstIo, IoCounter};
pub use sampler::{Outcome, Sampler};
pub use sampler_affinity::SamplerAffinity;
pub use source::{
    Choice, Depth, PERF_COLUMNS, Prepared, Rows, SOURCES, Source, UNCORE_COLUMNS, disk_bytes,
    prepare, prepare_chosen,
};
pub use target::{
    CpuFile, DiskTarget, GroupTarget, IoFiles, MemoryFiles, ProcessTarget, Processes, Targets,
    ThrottleTarget,
};
