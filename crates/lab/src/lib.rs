//! Runs commands in a virtual machine with a kernel, control group layout, NUMA nodes and disks
//! that this host need not have.
//!
//! A guest sees the host's files but cannot change them: its root is read-only, writes elsewhere go
//! to its own memory, and only one folder is shared for writing. Nothing on the host is configured:
//! kernels are in a separate cache (`/var/cache/assay/lab`, or `$ASSAY_LAB_CACHE`), never below
//! /boot or /lib/modules.
//!
//! ```text
//! GuestSpec -> kernel of the cache (fetched once) -> virtme-run -> QEMU -> init of the lab
//!                                                                   |-> command -> exit code
//! ```

mod accelerator;
mod cache;
mod console;
mod disk_space;
mod error;
mod forward;
mod guest;
mod image;
mod kernel;
pub mod kernels;
mod layout;
mod listed;
mod machine;
mod offer;
mod package;
mod package_lists;
mod process;
pub mod run_words;
mod running_guest;
mod script;
mod shared_dir;
mod spec;
pub mod study;
mod task;
mod tool;

pub use cache::Cache;
pub use error::{Console, Error};
pub use forward::Watcher;
pub use guest::{Ended, ready, run, shell};
pub use kernel::{Kernel, cached};
pub use layout::GuestLayout;
pub use offer::{Offer, offers, read_package_lists};
pub use script::WORK;
pub use spec::{Accelerator, Distance, GuestSpec, KernelChoice, parse_swap};
pub use task::{Argument, GuestTask, ReadOnlyMount, Results};
