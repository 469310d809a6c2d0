//! The machine around the groups: kernel, CPUs, memory, and files on which rules depend.

use std::collections::BTreeMap;
use std::path::Path;

use assay_audit::signs;
use assay_audit::snapshot::{MAX_FILE, Machine};
use assay_facts::Available;
use assay_kernel::Root;
use assay_kernel::parse::keyed;
use assay_kernel::parse::mountinfo::{self, Mount};
use rustix::io::Errno;

use crate::host::SignsBelow;

/// Files that are kept with their texts. One that this kernel lacks is left out.
const FILES: [&str; 19] = [
    "/proc/cgroups",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/proc/self/cgroup",
    "/proc/swaps",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/sched_schedstats",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/zone_reclaim_mode",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/sys/kernel/mm/lru_gen/enabled",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/sched_ext/root/ops",
    "/sys/kernel/sched_ext/state",
    "/sys/kernel/sched_ext/switch_all",
    "/sys/module/zswap/parameters/enabled",
];

/// The memory of the machine.
const MEMORY: &str = "/proc/meminfo";

/// Its CPUs.
const CPUS: &str = "/sys/devices/system/cpu/online";

pub(super) fn read(root: &Root) -> Machine {
    let mounts = mountinfo::parse(&root.mount_table().unwrap_or_default());
    let memory = match of_lxcfs(&mounts, MEMORY) {
        Some(why) => Err(why),
        None => root.read_at_most(MEMORY, MAX_FILE).map_err(|error| error.to_string()),
    };
    let total = |key: &str| match &memory {
        Ok(text) => match keyed::kibibytes(text, key) {
            Some(bytes) => Available::Value(bytes),
            None => Available::NotAvailable(format!("{MEMORY} has no {key}")),
        },
        Err(why) => Available::NotAvailable(why.clone()),
    };
    let kernel = line(root, "/proc/sys/kernel/osrelease");
    let shown = signs(kernel.value().map_or("", String::as_str), &SignsBelow::new(root));
    let cpus = of_lxcfs(&mounts, CPUS).map(Available::NotAvailable);
    Machine {
        name: name(root),
        kernel,
        cpus: cpus.unwrap_or_else(|| line(root, CPUS)),
        memory: total("MemTotal"),
        swap: total("SwapTotal"),
        files: files(root),
        weight_mode: Some(assay_host::weight_mode(root)),
        signs: shown,
        user: user(root),
    }
}

/// Why a file says nothing of the machine: lxcfs shows containers their own limits in its place.
fn of_lxcfs(mounts: &[Mount], file: &str) -> Option<String> {
    let over = mounts.iter().filter(|mount| Path::new(file).starts_with(&mount.target));
    let shown_by = over.max_by_key(|mount| mount.target.components().count())?;
    (shown_by.kind == "fuse.lxcfs")
        .then(|| format!("{file} is that of lxcfs, which shows limits of the container in it"))
}

/// Its name. In a container /proc shows that of the container, and a file that of the host.
fn name(root: &Root) -> Available<String> {
    let file = line(root, "/etc/hostname");
    let from_file = !root.is_real() && file.value().is_some_and(|name| !name.is_empty());
    if from_file { file } else { line(root, "/proc/sys/kernel/hostname") }
}

fn line(root: &Root, path: &str) -> Available<String> {
    match root.read_at_most(path, MAX_FILE) {
        Ok(text) => Available::Value(text.trim().to_owned()),
        Err(error) => Available::NotAvailable(error.to_string()),
    }
}

fn files(root: &Root) -> BTreeMap<String, Available<String>> {
    let mut files = BTreeMap::new();
    for path in FILES {
        let text = match root.read_at_most(path, MAX_FILE) {
            Ok(text) => Available::Value(text),
            Err(error) if error.is(Errno::NOENT) => continue,
            Err(error) => Available::NotAvailable(error.to_string()),
        };
        files.insert(path.to_owned(), text);
    }
    files
}

/// The second of the four ids in `Uid:` is the effective one (proc_pid_status(5)).
fn user(root: &Root) -> Available<u32> {
    let status = root.read_at_most("/proc/self/status", MAX_FILE).unwrap_or_default();
    keyed::colon(&status, "Uid")
        .and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok())
        .map_or_else(
            || Available::NotAvailable("/proc/self/status has no Uid".to_owned()),
            Available::Value,
        )
}
