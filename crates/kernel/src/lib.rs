//! The only door to the kernel: reads and writes of its files below a [`Root`], parsers of what
//! they say, and the system calls that the standard library lacks. It decides nothing.
#![allow(unsafe_code)]

mod bpf;
mod bpf_code;
mod btf;
mod error;
mod kept;
mod mapped_array;
mod root;
mod walker;

pub mod affinity;
pub mod allocations;
pub mod aside;
pub mod block;
pub mod blocked;
pub mod child;
pub mod class_program;
pub mod clock;
pub mod counters;
pub mod damon;
pub mod device_program;
pub mod direct_reads;
pub mod event_control;
pub mod event_counts;
pub mod fifo;
pub mod file_lock;
pub mod filesystem;
pub mod fork;
pub mod forward;
pub mod group_iterator;
pub mod hardware_counters;
pub mod huge_pages;
pub mod keyed_lines;
pub mod loop_device;
pub mod memory_policy;
pub mod mount;
pub mod namespace;
pub mod netlink;
pub mod open_files;
pub mod packets;
pub mod page_cache;
pub mod page_nodes;
pub mod pages;
pub mod parse;
pub mod partition;
mod perf_event;
pub mod placement;
pub mod pointer_ring;
pub mod priority;
pub mod process;
pub mod rights;
pub mod signal;
pub mod streaming_stores;
pub mod task;
pub mod task_iterator;
pub mod traffic;
pub mod wake;

pub use error::Error;
pub use kept::KeptFile;
pub use root::Root;
