//! The closed list of changes that may be restored by another process than the one that wrote the
//! ledger. The ledger's owner has been checked before; this is a second defence, for example on a file
//! system that someone else can write to.

use std::path::{Component, Path, PathBuf};

use crate::knob::{HostSetting, SideEffect, host_settings};
use assay_sys::kernel::loop_device::node;
use assay_sys::kernel::parse::mountinfo;
use assay_sys::kernel::{Error, Root};
use rustix::fs::fstat;

use super::change::Change;
use super::foreign_group::is_restorable;
use super::make::above;
use super::stacked_disk::ARRAY_PREFIX;

/// Control group files set for the duration of a run: at the root of a hierarchy, and the controllers
/// that a group enables for its children.
const ROOT_FILES: [&str; 2] = ["io.cost.qos", "io.cost.model"];
const SUBTREE_CONTROL: &str = "cgroup.subtree_control";
/// Set by conformance cases but by no study.
const ZSWAP: &str = "/sys/module/zswap/parameters/enabled";
const POOLS_OF_HUGE_PAGES: &str = "/sys/kernel/mm/hugepages";

/// Refuses a change that no run makes.
pub(super) fn check(root: &Root, change: &Change) -> Result<(), Error> {
    match change {
        Change::WriteFile { path, .. } => attribute(root, path).or_else(|_| setting(root, path)),
        Change::SetGroup { path, before, .. } => group_file(root, path, before),
        Change::Request { path, inverse, .. } => request(root, path, inverse),
        Change::WriteOneOf { path, other, .. } => {
            setting(root, path)?;
            setting(root, other)
        }
        Change::KeepQueue { device, attributes, .. } => {
            let queue = Path::new("/sys/block").join(device).join("queue");
            attributes.keys().try_for_each(|name| attribute(root, &queue.join(name)))
        }
        Change::MakeGroup { path } => group(root, path),
        Change::MakeDir { path } => {
            // Restored by rmdir, so only when it is empty.
            if is_whole(path) && has_own_part(path) { Ok(()) } else { Err(not_ours(path)) }
        }
        // The identity of the folder was written down, and only a run's folder is given away.
        Change::OwnFolder { path, uid, .. } => {
            if is_whole(path) && *uid != 0 {
                lies_with(root, path, *uid)
            } else {
                Err(not_ours(path))
            }
        }
        Change::MakeTree { path } | Change::MakeFile { path } => named_ours(path),
        Change::Mount { target, device, .. } => {
            named_ours(target)?;
            known(device.is_some(), target)
        }
        Change::AttachLoop { image, file } => {
            named_ours(image)?;
            known(file.is_some(), image)
        }
        Change::AddLoop { number, image, file } => {
            let node = node(*number);
            known(file.is_some(), &node)?;
            image.as_deref().map_or_else(|| known(false, &node), named_ours)
        }
        Change::NullBlk { path } => {
            named_ours(path)?;
            below_one_of(root, path, &[PathBuf::from("/sys/kernel/config/nullb")])
        }
        Change::StackDisk { name, below, .. } => {
            let own = name.strip_prefix(ARRAY_PREFIX).unwrap_or(name);
            named_ours(&Path::new("/dev").join(own))?;
            match is_name(below) && !below.contains('/') {
                true => Ok(()),
                false => Err(not_ours(Path::new(below))),
            }
        }
        Change::AddPartition { device, disk, .. } => {
            node_of_disk(device)?;
            known(disk.is_some(), device)
        }
        // A disk without a recorded identity is never wiped.
        Change::WriteSignatures { device, .. } => node_of_disk(device),
    }
}

fn node_of_disk(device: &Path) -> Result<(), Error> {
    if device.parent() == Some(Path::new("/dev")) { Ok(()) } else { Err(not_ours(device)) }
}

/// Refuses an entry without the identity of its disk, file or file system, which every run records: a
/// name alone may by now refer to something of someone else.
fn known(has_identity: bool, path: &Path) -> Result<(), Error> {
    match has_identity {
        true => Ok(()),
        false => Err(refusal(path, "the entry has a name but no identity")),
    }
}

/// A run folder is given only to the user in whose folder it lies; in one such as /tmp, where everyone
/// has entries, to any user.
fn lies_with(root: &Root, path: &Path, uid: u32) -> Result<(), Error> {
    const SHARED_STICKY: u32 = 0o1002;
    // A folder that no longer exists is given to nobody.
    let Ok((above, _)) = above(root, path) else { return Ok(()) };
    let stat = fstat(&above).map_err(|cause| Error::new("stat", above.path(), &cause.into()))?;
    if stat.st_uid == uid || stat.st_mode & SHARED_STICKY == SHARED_STICKY {
        return Ok(());
    }
    let why =
        format!("it is not in a folder of user {uid} (`chown -R {uid}` gives it away by hand)");
    Err(refusal(path, &why))
}

/// Allows an attribute of a disk's queue or of its scheduler, and nothing else of a disk.
fn attribute(root: &Root, path: &Path) -> Result<(), Error> {
    let below = path.strip_prefix("/sys/block").ok().and_then(Path::to_str).unwrap_or_default();
    let parts: Vec<&str> = below.split('/').collect();
    match parts[..] {
        [disk, "queue", name] | [disk, "queue", "iosched", name]
            if [disk, name].into_iter().all(is_name) =>
        {
            below_one_of(root, path, &[PathBuf::from("/sys/block")])
        }
        _ => Err(refusal(path, "it is not an attribute of a disk's queue")),
    }
}

/// Whether this file sets the number of huge pages of one size.
fn is_pool(path: &Path) -> bool {
    let below = path.strip_prefix(POOLS_OF_HUGE_PAGES).ok().and_then(Path::to_str);
    let parts: Option<(&str, &str)> = below.and_then(|below| below.split_once('/'));
    parts.is_some_and(|(size, name)| size.starts_with("hugepages-") && name == "nr_hugepages")
}

/// Allows a host setting that studies vary, one that the kernel recomputes with it, or one that
/// conformance needs.
fn setting(root: &Root, path: &Path) -> Result<(), Error> {
    let is_it = |setting: &HostSetting| match setting.effect {
        _ if Path::new(&setting.path()) == path => true,
        SideEffect::Recomputes(other) => Path::new(other) == path,
        _ => false,
    };
    match path == Path::new(ZSWAP) || is_pool(path) || host_settings().iter().any(is_it) {
        true => below_one_of(
            root,
            path,
            &["/proc/sys", "/sys/kernel/mm", "/sys/module/zswap"].map(PathBuf::from),
        ),
        false => Err(not_ours(path)),
    }
}

/// Allows requests to the root of a hierarchy, and disabling a controller for a group's children.
fn request(root: &Root, path: &Path, inverse: &str) -> Result<(), Error> {
    let tops = hierarchies(root);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_root = path.parent().is_some_and(|group| tops.iter().any(|top| top == group));
    let switches_off = inverse.ends_with(" enable=0") || inverse.ends_with(" ctrl=auto");
    let disables = inverse.starts_with('-') && !inverse.contains(char::is_whitespace);
    let is_made_by_runs = match name {
        SUBTREE_CONTROL => disables,
        name => is_root && switches_off && ROOT_FILES.contains(&name),
    };
    match is_made_by_runs {
        true => below_one_of(root, path, &tops),
        false => Err(not_ours(path)),
    }
}

/// Allows files of groups of others that `assay blame --prove` changes, with what it finds in them.
fn group_file(root: &Root, path: &Path, before: &str) -> Result<(), Error> {
    match is_restorable(path, before) {
        true => below_one_of(root, path, &hierarchies(root)),
        false => Err(not_ours(path)),
    }
}

fn group(root: &Root, path: &Path) -> Result<(), Error> {
    if !has_own_part(path) {
        return Err(not_ours(path));
    }
    below_one_of(root, path, &hierarchies(root))
}

/// The mount points of control groups.
fn hierarchies(root: &Root) -> Vec<PathBuf> {
    let text = root.read("/proc/self/mountinfo").unwrap_or_default();
    let mounts = mountinfo::parse(&text).into_iter();
    let mounts = mounts.filter(|mount| mount.kind.starts_with("cgroup"));
    mounts.map(|mount| mount.target).chain([PathBuf::from("/sys/fs/cgroup")]).collect()
}

/// Refuses a path outside these directories, both by name and after resolving links. Links below /sys
/// are the kernel's own, and lead nowhere else.
fn below_one_of(root: &Root, path: &Path, tops: &[PathBuf]) -> Result<(), Error> {
    let named = is_whole(path) && tops.iter().any(|top| path.starts_with(top));
    let resolved = root.resolve(path);
    let Ok(real) = resolved.canonicalize() else {
        // A path that no longer exists does no harm.
        return if named || !resolved.exists() { Ok(()) } else { Err(not_ours(path)) };
    };
    let inside = |top: &PathBuf| {
        let top = root.resolve(top);
        let top =
            if top.starts_with(root.resolve("/sys/block")) { root.resolve("/sys") } else { top };
        top.canonicalize().is_ok_and(|top| real.starts_with(top))
    };
    if named && tops.iter().any(inside) { Ok(()) } else { Err(not_ours(path)) }
}

/// Allows names that runs use: `assay-...`, followed by the process id where names could collide.
fn named_ours(path: &Path) -> Result<(), Error> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if is_whole(path) && is_own_name(name) { Ok(()) } else { Err(not_ours(path)) }
}

fn is_own_name(name: &str) -> bool {
    name == "assay" || name.starts_with("assay-")
}

fn has_own_part(path: &Path) -> bool {
    path.components().filter_map(|part| part.as_os_str().to_str()).any(is_own_name)
}

/// Whether a path is absolute and has no `..`.
fn is_whole(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".."
}

fn not_ours(path: &Path) -> Error {
    refusal(path, "no run makes such a change")
}

fn refusal(path: &Path, why: &str) -> Error {
    let hint = format!(
        "{why}: the ledger may be forged, and nothing was done; check who can write it, clean up by \
         hand, then `assay restore --set-aside RUN`"
    );
    Error::unexpected("restore", path, hint)
}
