//! Quantities as people and the kernel write them: bytes, durations, percentages, lists of ids,
//! choices of CPUs and memory policies.
//!
//! This module does only parsing and arithmetic and opens no file. Every type prints in a form that
//! parses to the same value.

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
