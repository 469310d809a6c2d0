//! What a ledger may ask for when it is taken back by another process than the one that wrote it: a
//! closed list. The ledger's owner was checked before; this holds where that was not enough, as on a
//! file system that somebody else can write to.

use std::path::{Component, Path, PathBuf};

use assay_kernel::parse::mountinfo;
use assay_kernel::{Error, Root};
use assay_knob::host_settings;

use super::change::Change;

/// Where kernel files are written.
const PLACES: [&str; 4] =
    ["/sys/block", "/sys/fs/cgroup", "/sys/kernel/mm", "/sys/module/zswap/parameters"];

/// Files of control groups by which the kernel is told what to start.
const STARTS_PROGRAMS: [&str; 2] = ["release_agent", "notify_on_release"];

/// Refuses a change that no run makes.
pub(super) fn check(root: &Root, change: &Change) -> Result<(), Error> {
    match change {
        Change::WriteFile { path, .. } | Change::Request { path, .. } => kernel_file(root, path),
        Change::WriteOneOf { path, other, .. } => {
            kernel_file(root, path)?;
            kernel_file(root, other)
        }
        Change::KeepQueue { device, attributes, .. } => {
            let names = attributes.keys().map(Path::new);
            if is_name(device) && names.into_iter().all(is_plain) {
                return Ok(());
            }
            Err(refusal(Path::new(device), "it is no attribute of a disk's queue"))
        }
        Change::MakeGroup { path } => group(root, path),
        Change::MakeDir { path } => {
            // Taken back only when it is empty. `mnt` is the run folder's.
            let ours = has_own_part(path) || path.ends_with("mnt");
            if is_whole(path) && ours { Ok(()) } else { Err(not_ours(path)) }
        }
        Change::MakeTree { path }
        | Change::MakeFile { path }
        | Change::AttachLoop { image: path }
        | Change::Mount { target: path, .. }
        | Change::MountV1 { target: path, .. } => named_ours(path),
        Change::NullBlk { path } => {
            named_ours(path)?;
            below(root, path, &[PathBuf::from("/sys/kernel/config/nullb")])
        }
        Change::AddPartition { device, .. } | Change::WriteSignatures { device, .. } => {
            if device.parent() == Some(Path::new("/dev")) { Ok(()) } else { Err(not_ours(device)) }
        }
        Change::AddLoop { .. } => Ok(()),
    }
}

fn kernel_file(root: &Root, path: &Path) -> Result<(), Error> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if STARTS_PROGRAMS.contains(&name) {
        return Err(refusal(path, "it says what the kernel starts"));
    }
    if path.starts_with("/proc/sys") {
        let is_setting = host_settings().iter().any(|setting| Path::new(setting.path) == path);
        // The kernel computes others anew when one is set.
        if is_whole(path) && (is_setting || path.parent() == Some(Path::new("/proc/sys/vm"))) {
            return below(root, path, &[PathBuf::from("/proc/sys")]);
        }
        return Err(not_ours(path));
    }
    let mut tops: Vec<PathBuf> = PLACES.map(PathBuf::from).to_vec();
    tops.extend(hierarchies(root));
    below(root, path, &tops)
}

fn group(root: &Root, path: &Path) -> Result<(), Error> {
    if !has_own_part(path) {
        return Err(not_ours(path));
    }
    let mut tops = hierarchies(root);
    tops.push(PathBuf::from("/sys/fs/cgroup"));
    below(root, path, &tops)
}

/// Where control groups are mounted.
fn hierarchies(root: &Root) -> Vec<PathBuf> {
    let text = root.read("/proc/self/mountinfo").unwrap_or_default();
    let mounts = mountinfo::parse(&text).into_iter();
    mounts.filter(|mount| mount.kind.starts_with("cgroup")).map(|mount| mount.target).collect()
}

/// Refuses what lies elsewhere than below one of these, by its name and by what that stands for.
/// The links below /sys are the kernel's own, and lead nowhere else.
fn below(root: &Root, path: &Path, tops: &[PathBuf]) -> Result<(), Error> {
    let named = is_whole(path) && tops.iter().any(|top| path.starts_with(top));
    let place = root.resolve(path);
    let Ok(real) = place.canonicalize() else {
        // What is gone is harmed by nobody.
        return if named || !place.exists() { Ok(()) } else { Err(not_ours(path)) };
    };
    let inside = |top: &PathBuf| {
        let top = root.resolve(top);
        let top =
            if top.starts_with(root.resolve("/sys/block")) { root.resolve("/sys") } else { top };
        top.canonicalize().is_ok_and(|top| real.starts_with(top))
    };
    if named && tops.iter().any(inside) { Ok(()) } else { Err(not_ours(path)) }
}

fn named_ours(path: &Path) -> Result<(), Error> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if is_whole(path) && name.starts_with("assay") { Ok(()) } else { Err(not_ours(path)) }
}

fn has_own_part(path: &Path) -> bool {
    let names = path.components().filter_map(|part| part.as_os_str().to_str());
    names.into_iter().any(|name| name.starts_with("assay"))
}

/// Whether a path begins at the root and never turns back.
fn is_whole(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn is_plain(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_)))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && is_plain(Path::new(name))
}

fn not_ours(path: &Path) -> Error {
    refusal(path, "no run changes such a thing")
}

fn refusal(path: &Path, why: &str) -> Error {
    let hint = format!(
        "{why}: the ledger may be forged, and nothing was done; look who can write it, clean up by \
         hand, then `assay restore --set-aside RUN`"
    );
    Error::unexpected("take back", path, hint)
}
