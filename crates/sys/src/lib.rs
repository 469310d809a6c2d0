//! What everything else stands on: the kernel's files below a root, system calls and processes, the one door through which
//! files are made and removed, units, and the escaping of foreign text.

mod closest;
pub mod diagnostic;
pub mod escape;
pub mod exit;
pub mod files;
pub mod kernel;
pub mod units;

pub use closest::closest;
