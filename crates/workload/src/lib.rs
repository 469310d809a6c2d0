//! The real tools: what is told to each, and how its own output becomes metrics.
//!
//! Pure throughout: this room writes no file and starts no process. It is given texts and
//! returns texts; the engine owns the processes.

pub mod amounts;
pub mod fio;
