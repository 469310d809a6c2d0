//! The table of interface files, one entry per file, by controller. A new file is one entry; a
//! setting needs a rule in `translate` only if v1 has it under another name.
//!
//! Sources: Documentation/admin-guide/cgroup-v2.rst, Documentation/admin-guide/cgroup-v1/ and
//! Documentation/block/bfq-iosched.rst of the kernel; anything they leave open was looked up in the
//! kernel's `struct cftype` tables and compared with running kernels (`assay host --knobs-check`).

mod blkio;
mod core;
mod cpu;
mod cpuset;
mod devices;
mod hugetlb;
mod io;
mod memory;
mod memory_v1;
mod network;
mod pids;
mod resources;

use std::collections::HashMap;
use std::sync::LazyLock;

use assay_diagnostic::closest;

use crate::knob::Knob;

static ALL: LazyLock<Vec<Knob>> = LazyLock::new(|| {
    [
        core::KNOBS,
        cpu::KNOBS,
        cpuset::KNOBS,
        memory::KNOBS,
        memory_v1::KNOBS,
        io::KNOBS,
        blkio::KNOBS,
        pids::KNOBS,
        hugetlb::KNOBS,
        devices::KNOBS,
        network::KNOBS,
        resources::KNOBS,
    ]
    .concat()
});

/// An audit looks up the files of each of thousands of groups.
static BY_NAME: LazyLock<HashMap<&str, &Knob>> =
    LazyLock::new(|| ALL.iter().map(|knob| (knob.name, knob)).collect());

/// Every interface file, in the order of controllers.
#[must_use]
pub fn all() -> &'static [Knob] {
    &ALL
}

/// Finds the entry of a file by name. Names with a huge page size, such as `hugetlb.2MB.max`, match
/// the entry with `<size>`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Knob> {
    let of_size = || all().iter().find(|knob| knob.size_in(name).is_some());
    BY_NAME.get(name).copied().filter(|knob| !knob.is_pattern()).or_else(of_size)
}

/// The knob whose name is closest to `name`, if one is close.
#[must_use]
pub fn suggest(name: &str) -> Option<&'static str> {
    closest(name, all().iter().map(|knob| knob.name))
}

#[cfg(test)]
mod tests;
