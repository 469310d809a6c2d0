//! What a ledger may ask for when it is taken back by another process than the one that wrote it: a
//! closed list. The ledger's owner was checked before; this holds where that was not enough, as on a
//! file system that somebody else can write to.

use std::path::{Component, Path, PathBuf};

use assay_kernel::loop_device::node;
use assay_kernel::parse::mountinfo;
use assay_kernel::{Error, Root};
use assay_knob::{HostSetting, SideEffect, host_settings};
use rustix::fs::fstat;

use super::change::Change;
use super::make::above;

/// Files of control groups that are set for the length of a run: at the root of a hierarchy, and
/// which controllers a group hands down.
const ROOT_FILES: [&str; 2] = ["io.cost.qos", "io.cost.model"];
const SUBTREE_CONTROL: &str = "cgroup.subtree_control";
/// What cases of conformance switch on and no study does.
const ZSWAP: &str = "/sys/module/zswap/parameters/enabled";
const POOLS_OF_HUGE_PAGES: &str = "/sys/kernel/mm/hugepages";

/// Refuses a change that no run makes.
pub(super) fn check(root: &Root, change: &Change) -> Result<(), Error> {
    match change {
        Change::WriteFile { path, .. } => attribute(root, path).or_else(|_| setting(root, path)),
        Change::Request { path, inverse, .. } => request(root, path, inverse),
        Change::WriteOneOf { path, other, .. } => {
            setting(root, path)?;
            setting(root, other)
        }
        Change::KeepQueue { device, attributes, .. } => {
            let place = Path::new("/sys/block").join(device).join("queue");
            attributes.keys().try_for_each(|name| attribute(root, &place.join(name)))
        }
        Change::MakeGroup { path } => group(root, path),
        Change::MakeDir { path } => {
            // Taken back only when it is empty.
            if is_whole(path) && has_own_part(path) { Ok(()) } else { Err(not_ours(path)) }
        }
        // Which folder it is was written down, and it is given away only if it is a run's.
        Change::OwnFolder { path, uid, .. } => {
            if is_whole(path) && *uid != 0 {
                lies_with(root, path, *uid)
            } else {
                Err(not_ours(path))
            }
        }
        Change::MakeTree { path } | Change::MakeFile { path } => named_ours(path),
        // Only one that is mounted whole, and of this controller, is unmounted there.
        Change::MountV1 { target, .. } => named_ours(target),
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
        Change::AddPartition { device, disk, .. } => {
            node_of_disk(device)?;
            known(disk.is_some(), device)
        }
        // One of which nothing is known is never wiped.
        Change::WriteSignatures { device, .. } => node_of_disk(device),
    }
}

fn node_of_disk(device: &Path) -> Result<(), Error> {
    if device.parent() == Some(Path::new("/dev")) { Ok(()) } else { Err(not_ours(device)) }
}

/// Refuses an entry that does not say which disk, file or file system it means, as those of every run
/// do: a name alone may stand for somebody else's by now.
fn known(says_which: bool, path: &Path) -> Result<(), Error> {
    match says_which {
        true => Ok(()),
        false => Err(refusal(path, "the entry does not say which one it is, only its name")),
    }
}

/// A run folder is given to nobody but the user in whose folder it lies, or, in one such as /tmp where
/// everybody has his own, to any.
fn lies_with(root: &Root, path: &Path, uid: u32) -> Result<(), Error> {
    const EVERYBODY_S: u32 = 0o1002;
    // What is gone is given to nobody.
    let Ok((above, _)) = above(root, path) else { return Ok(()) };
    let found = fstat(&above).map_err(|cause| Error::new("stat", above.path(), &cause.into()))?;
    if found.st_uid == uid || found.st_mode & EVERYBODY_S == EVERYBODY_S {
        return Ok(());
    }
    let why = format!("it lies in no folder of user {uid} (`chown -R {uid}` gives it by hand)");
    Err(refusal(path, &why))
}

/// An attribute of a disk's queue or of its scheduler, and nothing else of a disk.
fn attribute(root: &Root, path: &Path) -> Result<(), Error> {
    let below = path.strip_prefix("/sys/block").ok().and_then(Path::to_str).unwrap_or_default();
    let parts: Vec<&str> = below.split('/').collect();
    match parts[..] {
        [disk, "queue", name] | [disk, "queue", "iosched", name]
            if [disk, name].into_iter().all(is_name) =>
        {
            below_one_of(root, path, &[PathBuf::from("/sys/block")])
        }
        _ => Err(refusal(path, "it is no attribute of a disk's queue")),
    }
}

/// Whether it is how many huge pages of a size there are.
fn is_pool(path: &Path) -> bool {
    let below = path.strip_prefix(POOLS_OF_HUGE_PAGES).ok().and_then(Path::to_str);
    let parts: Option<(&str, &str)> = below.and_then(|below| below.split_once('/'));
    parts.is_some_and(|(size, name)| size.starts_with("hugepages-") && name == "nr_hugepages")
}

/// A setting of the host that studies know, one that the kernel computes anew when one of those is
/// set, or one that conformance needs.
fn setting(root: &Root, path: &Path) -> Result<(), Error> {
    let is_it = |setting: &HostSetting| match setting.effect {
        _ if Path::new(setting.path) == path => true,
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

/// What is asked of the root of a hierarchy, or which controllers a group hands down no more.
fn request(root: &Root, path: &Path, inverse: &str) -> Result<(), Error> {
    let tops = hierarchies(root);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_root = path.parent().is_some_and(|group| tops.iter().any(|top| top == group));
    let switches_off = inverse.ends_with(" enable=0") || inverse.ends_with(" ctrl=auto");
    let gives_up = inverse.starts_with('-') && !inverse.contains(char::is_whitespace);
    let is_asked_by_runs = match name {
        SUBTREE_CONTROL => gives_up,
        name => is_root && switches_off && ROOT_FILES.contains(&name),
    };
    match is_asked_by_runs {
        true => below_one_of(root, path, &tops),
        false => Err(not_ours(path)),
    }
}

fn group(root: &Root, path: &Path) -> Result<(), Error> {
    if !has_own_part(path) {
        return Err(not_ours(path));
    }
    below_one_of(root, path, &hierarchies(root))
}

/// Where control groups are mounted.
fn hierarchies(root: &Root) -> Vec<PathBuf> {
    let text = root.read("/proc/self/mountinfo").unwrap_or_default();
    let mounts = mountinfo::parse(&text).into_iter();
    let mounts = mounts.filter(|mount| mount.kind.starts_with("cgroup"));
    mounts.map(|mount| mount.target).chain([PathBuf::from("/sys/fs/cgroup")]).collect()
}

/// Refuses what lies elsewhere than below one of these, by its name and by what that stands for.
/// The links below /sys are the kernel's own, and lead nowhere else.
fn below_one_of(root: &Root, path: &Path, tops: &[PathBuf]) -> Result<(), Error> {
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

/// What a run makes is named after it: `assay-...`, and where others might have the same idea with
/// the number of its process at the end.
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

/// Whether a path begins at the root and never turns back.
fn is_whole(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".."
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
