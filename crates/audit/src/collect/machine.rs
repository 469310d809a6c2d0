//! The machine around the groups: kernel, CPUs, memory, and files on which rules depend.

use std::path::Path;

use assay_host::facts::Available;
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::keyed;
use assay_sys::kernel::parse::mountinfo::{self, Mount};

use super::read::{present, text, trimmed};
use crate::running_kernel::SignsBelow;
use crate::settings::OPTIONS;
use crate::snapshot::{MAX_FILE, Machine};
use crate::{HOST_FILES, signs};

/// The memory of the machine.
const MEMORY: &str = "/proc/meminfo";

/// What it was booted with.
const CMDLINE: &str = "/proc/cmdline";

/// Its CPUs.
const CPUS: &str = "/sys/devices/system/cpu/online";

pub(super) fn read(root: &Root) -> Machine {
    let mounts = mountinfo::parse(&root.mount_table().unwrap_or_default());
    let memory = match of_lxcfs(&mounts, MEMORY) {
        Some(why) => Err(why),
        None => root.read_at_most(MEMORY, MAX_FILE).map_err(|error| error.to_string()),
    };
    let total = |key: &str| -> Available<u64> {
        let of = |text| keyed::kibibytes(text, key).ok_or(format!("{MEMORY} has no {key}"));
        memory.as_deref().map_err(Clone::clone).and_then(of).into()
    };
    let kernel = trimmed(root, "/proc/sys/kernel/osrelease");
    let shown = signs(kernel.value().map_or("", String::as_str), &SignsBelow::new(root));
    let file = |(path, _): (&str, bool)| Some((path.to_owned(), present(root, path)?));
    let files = HOST_FILES.into_iter().filter_map(file).chain(options(root));
    let cpus = of_lxcfs(&mounts, CPUS).map(Available::NotAvailable);
    Machine {
        name: name(root),
        kernel,
        cpus: cpus.unwrap_or_else(|| trimmed(root, CPUS)),
        memory: total("MemTotal"),
        swap: total("SwapTotal"),
        files: files.collect(),
        weight_mode: Some(assay_host::weight_mode(root)),
        signs: shown,
        user: user(root),
    }
}

/// What of the kernel's command line decides about groups.
fn options(root: &Root) -> Option<(String, Available<String>)> {
    let line = text(root, CMDLINE)?;
    let is_kept = |word: &&str| OPTIONS.iter().any(|option| word.starts_with(option));
    let words: Vec<&str> = line.split_whitespace().filter(is_kept).collect();
    Some((CMDLINE.to_owned(), Available::Value(words.join(" "))))
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
    let file = trimmed(root, "/etc/hostname");
    let from_file = !root.is_real() && file.value().is_some_and(|name| !name.is_empty());
    if from_file { file } else { trimmed(root, "/proc/sys/kernel/hostname") }
}

/// The second of the four ids in `Uid:` is the effective one (proc_pid_status(5)).
fn user(root: &Root) -> Available<u32> {
    let status = text(root, "/proc/self/status").unwrap_or_default();
    let user = keyed::colon(&status, "Uid");
    let user = user.and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok());
    user.ok_or("/proc/self/status has no Uid").into()
}
