//! Gathers facts about a host. A file that this host lacks makes one fact unavailable, and the rest are
//! still gathered.

mod cgroup;
mod cpus;
mod delegation;
mod disks;
mod memory;
mod null_blk;
mod settings;
mod system;
mod tools;
mod weight_mode;

pub(crate) use null_blk::NULLB;
pub use system::machine;
pub use tools::locate_tools;
pub use weight_mode::weight_mode;

use crate::facts::{CgroupLayout, Disk, HostFacts};
use assay_sys::kernel::{Error, Root};
use assay_sys::units::CpuSet;

/// Gathers the facts of the host below `root`. Fails only where there is no /proc at all.
pub fn gather(root: &Root) -> Result<HostFacts, Error> {
    root.list("/proc").map_err(|error| error.with_hint("mount -t proc proc /proc"))?;
    let cpus = cpus::cpus(root);
    let memory = memory::total(root, "MemTotal");
    let nodes = memory::nodes(root, &cpus.online, memory);
    let disks = disks::disks(root);
    let with_memory = nodes.iter().filter(|node| node.memory.get() > 0);
    Ok(HostFacts {
        host_name: system::host_name(root),
        machine: machine(root),
        kernel: system::release(root),
        architecture: system::architecture(root),
        distribution: system::distribution(root),
        effective_user: system::effective_user(root),
        root: delegation::root(root),
        virtual_machine: system::virtual_machine(root),
        caches: cpus::caches(root, &cpus.online),
        memory_nodes: with_memory.map(|node| node.id).collect(),
        cpus,
        nodes,
        memory,
        swap: memory::total(root, "SwapTotal"),
        cgroup: delegation::with_bases(root, cgroup::layout(root)),
        schedulers: disks::schedulers(&disks),
        disks,
        null_blk: null_blk::null_blk(root),
        pressure: system::pressure(root),
        parses_partitions: system::parses_partitions(root),
        weight_mode: weight_mode(root),
        settings: settings::settings(root),
        tools: tools::tools(root),
    })
}

/// The control groups and online CPUs alone: by files, without a program of the host.
#[must_use]
pub fn groups_and_cpus(root: &Root) -> (CgroupLayout, CpuSet) {
    (delegation::with_bases(root, cgroup::layout(root)), cpus::cpus(root).online)
}

/// The whole disk with these device numbers; `None` if they belong to a partition.
pub(crate) fn disk_by_numbers(root: &Root, major: u32, minor: u32) -> Option<Disk> {
    disks::disks(root).into_iter().find(|disk| (disk.major, disk.minor) == (major, minor))
}

/// The whole disk of this name.
pub(crate) fn disk_named(root: &Root, name: &str) -> Option<Disk> {
    disks::disks(root).into_iter().find(|disk| disk.name == name)
}
