//! Facts and changes of hosts, on fake hosts and on this one.

mod facts;
mod real_kernel;
