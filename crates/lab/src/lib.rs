//! The same commands inside a virtual machine, with a kernel, a layout of control groups, NUMA
//! nodes and disks that this host need not have.
//!
//! A guest sees the files of the host but cannot change them: its root is read-only, what it
//! writes elsewhere goes to its own memory, and one folder alone is shared for writing. Nothing
//! of the host is set for it: kernels lie in a cache of their own (`/var/cache/assay/lab`, or
//! `$ASSAY_LAB_CACHE`), never below /boot or /lib/modules.
//!
//! ```text
//! GuestSpec -> kernel of the cache (fetched once) -> virtme-run -> QEMU -> init of the lab
//!                                                                   |-> command -> exit code
//! ```

mod accelerator;
mod cache;
mod console;
mod error;
mod guest;
mod kernel;
mod layout;
mod machine;
mod package;
mod process;
mod script;
mod shared_dir;
mod spec;
mod tool;

pub use cache::Cache;
pub use error::{Console, Error};
pub use guest::{Back, Ended, Errand, Watcher, Word, ready, run, shell};
pub use kernel::{Kernel, available, cached};
pub use layout::GuestLayout;
pub use script::{Shown, WORK};
pub use spec::{Accelerator, Distance, GuestSpec, KernelChoice, parse_swap};
