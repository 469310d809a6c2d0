//! The sampler on fake hosts and on this one. `steady.rs`, which checks that its loop does not allocate, is a
//! separate binary because it uses its own allocator.

mod bad_input;
mod fake_host;
mod follow;
mod reference;
mod sar;
mod whole_host;
