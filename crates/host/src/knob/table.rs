//! The table of interface files, one entry per file, by controller. A new file is one entry; a
//! setting needs a rule in `translate` only if v1 has it under another name.
//!
//! Each file names its sources: documents of the kernel, without their `Documentation/` and `admin-guide/`, and where
//! the files of the interface are made (`struct cftype`). A test compares the table with the running kernel (tests/cgroup/knob_table.rs).

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

use assay_sys::closest;

use crate::knob::entry::{Knob, Role, Unit};
use crate::knob::range::ValueRange;

static ALL: LazyLock<Vec<Knob>> = LazyLock::new(|| {
    let families = [
        (core::SOURCE, core::KNOBS),
        (cpu::SOURCE, cpu::KNOBS),
        (cpuset::SOURCE, cpuset::KNOBS),
        (memory::SOURCE, memory::KNOBS),
        (memory_v1::SOURCE, memory_v1::KNOBS),
        (io::SOURCE, io::KNOBS),
        (blkio::SOURCE, blkio::KNOBS),
        (pids::SOURCE, pids::KNOBS),
        (hugetlb::SOURCE, hugetlb::KNOBS),
        (devices::SOURCE, devices::KNOBS),
        (network::SOURCE, network::KNOBS),
        (resources::SOURCE, resources::KNOBS),
    ];
    let with_source = |(source, knobs): (&'static str, &'static [Knob])| {
        knobs.iter().map(move |knob| Knob { source, ..*knob })
    };
    families.into_iter().flat_map(with_source).collect()
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

/// A write to this file changes `cpu.weight`, of which it is another view.
pub const WEIGHT_AS_NICE: &str = "cpu.weight.nice";

static SETTINGS: LazyLock<Vec<&Knob>> = LazyLock::new(|| {
    // A file that accepts only 0 is a counter that can be reset, such as `cpuacct.usage`.
    const COUNTER: ValueRange = ValueRange::Integer { low: 0, high: 0 };
    let is_kept = |knob: &&Knob| {
        knob.role == Role::Setting
            && knob.range != COUNTER
            && knob.name != WEIGHT_AS_NICE
            && match knob.default() {
                Some(_) => true,
                // Of the others some are only written, and `memory.oom_control` counts as well.
                None => matches!(knob.unit, Unit::Table | Unit::Bytes | Unit::Count),
            }
    };
    all().iter().filter(is_kept).collect()
});

/// Huge page sizes of all architectures, as in names of files.
const SIZES: [&str; 7] = ["64KB", "2MB", "16MB", "32MB", "512MB", "1GB", "16GB"];

static SETTING_FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = |knob: &&Knob| match knob.is_pattern() {
        true => SIZES.map(|size| knob.name_for(size)).to_vec(),
        false => vec![knob.name.to_owned()],
    };
    settings().iter().flat_map(names).collect()
});

/// The settings of a host's groups: files that keep what is written, each once; and the tables of the root.
#[must_use]
pub fn settings() -> &'static [&'static Knob] {
    &SETTINGS
}

/// The names of their files, with each size of huge pages.
#[must_use]
pub fn setting_files() -> &'static [String] {
    &SETTING_FILES
}

/// The knob whose name is closest to `name`, if one is close.
#[must_use]
pub fn suggest(name: &str) -> Option<&'static str> {
    closest(name, all().iter().map(|knob| knob.name))
}

#[cfg(test)]
mod tests;
