//! The only access to the kernel: reads and writes of its files below a [`Root`], parsers of their
//! contents, and system calls missing in the standard library. Makes no decisions.
#![allow(unsafe_code)]

mod bpf;
mod error;
mod reread_file;
mod root;

pub mod affinity;
pub mod allocations;
pub mod anonymous_memory;
pub mod block;
pub mod blocked;
pub mod bounded_query;
pub mod bpf_info;
pub mod bpf_iterator;
pub mod bpf_map;
pub mod bpf_sampler;
pub mod bpf_tracepoint;
pub mod btf;
pub mod cgroup1_eventfd;
pub mod child;
pub mod clock;
pub mod counters;
pub mod device_program;
pub mod direct_io;
pub mod event_counts;
pub mod fifo;
pub mod file_lock;
pub mod filesystem;
pub mod fork;
pub mod hardware_counters;
pub mod huge_pages;
pub mod keyed_lines;
pub mod late_write;
pub mod loop_device;
pub mod mapped_array;
pub mod mount;
pub mod move_pages;
pub mod namespace;
pub mod open_files;
pub mod parse;
pub mod partition;
mod perf_event;
pub mod placement;
pub mod poll_event;
pub mod priority;
pub mod privileges;
pub mod process;
pub mod program;
pub mod signal;
pub mod signal_forwarding;
pub mod stream;
pub mod task;
pub mod write_notices;

pub use error::Error;
pub use reread_file::RereadFile;
pub use root::{Access, Entries, FileId, Root};
