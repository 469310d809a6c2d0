//! Quantities as people and the kernel write them: bytes, durations, percents, id lists, and
//! places: choices of CPUs and memory policies.
//!
//! This room knows spelling and arithmetic, never the kernel: nothing here opens a file.
//! Every type prints in a form that it parses back to the same value.

mod bytes;
mod cpu_choice;
mod duration;
mod error;
mod id_set;
mod limit;
mod memory_policy;
mod percent;

pub use bytes::Bytes;
pub use cpu_choice::CpuChoice;
pub use duration::{format_duration, parse_duration};
pub use error::UnitError;
pub use id_set::{CpuSet, IdSet, NodeSet};
pub use limit::Limit;
pub use memory_policy::MemoryPolicy;
pub use percent::Percent;
