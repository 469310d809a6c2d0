//! The sampler on made-up hosts and on this one. That its loop allocates nothing is in `steady.rs`, a
//! binary of its own, because it counts with an allocator of its own.

mod bad_input;
mod fake_host;
mod follow;
mod many_groups;
mod reference;
mod sar;
mod whole_host;
