//! What is read of a host, and how it changes and comes back, on made-up hosts and on this one.

mod facts;
mod real_kernel;
