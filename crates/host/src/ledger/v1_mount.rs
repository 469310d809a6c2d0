//! A cgroup v1 hierarchy of the run, for a controller that no mounted hierarchy serves.

use std::path::Path;
use std::time::Duration;

use assay_sys::kernel::parse::{cgroups, mountinfo};
use assay_sys::kernel::{Error, Root, mount};

use super::Ledger;
use super::change::Change;
use super::crash_point::crash_point;
use crate::poll_until::{wait_for_end, wait_until};

/// Time limit for removed groups to disappear, and the hierarchy after them.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of one attempt before checking whether the hierarchy is gone.
const ATTEMPT: Duration = Duration::from_millis(500);

impl Ledger {
    /// Mounts a new v1 hierarchy with this one controller at `target`. The kernel refuses with EBUSY
    /// while another hierarchy uses the controller.
    pub fn mount_v1(&mut self, controller: &str, target: &Path) -> Result<(), Error> {
        let target = target.canonicalize().map_err(|cause| Error::new("mount", target, &cause))?;
        let change = Change::MountV1 { controller: controller.to_owned(), target: target.clone() };
        self.record(change, || mount::mount_v1(controller, &target))
    }
}

/// Unmounts the hierarchy and ensures that it ends.
///
/// A hierarchy ends with its last mount only if it has no groups then (`cgroup_kill_sb` of
/// kernel/cgroup/cgroup.c), and removed groups take a moment to disappear. One that remains keeps the
/// controller; the same request mounts it again, so that it can be unmounted once more.
pub(super) fn release(root: &Root, controller: &str, target: &Path) -> Result<(), Error> {
    if !target.is_dir() {
        return Ok(());
    }
    let mut result = Ok(());
    let gone = wait_for_end(TIMEOUT, || {
        result = release_once(root, controller, target);
        result.is_err() || !is_held(root, controller) || is_mounted(root, controller)
    });
    result?;
    if gone {
        return Ok(());
    }
    Err(Error::unexpected(
        "unmount",
        target,
        "the hierarchy remains, because groups in it have not disappeared",
    ))
}

fn release_once(root: &Root, controller: &str, target: &Path) -> Result<(), Error> {
    if is_held(root, controller) && !is_mounted(root, controller) {
        crash_point()?;
        mount::mount_v1(controller, target)?;
    }
    wait_until(ATTEMPT, || groups(root, controller) <= 1);
    // Any other mount there belongs to someone else.
    let is_ours = |mount: &mountinfo::Mount| mount.target == target && mount.is_v1_of(controller);
    super::while_busy::unmount_each(root, &is_ours)?;
    wait_until(ATTEMPT, || !is_held(root, controller));
    Ok(())
}

/// Whether a v1 hierarchy has the controller, mounted or not.
fn is_held(root: &Root, controller: &str) -> bool {
    subsystem(root, controller).is_some_and(|subsystem| subsystem.hierarchy != 0)
}

/// Number of groups in the hierarchy, including its root and those being removed.
fn groups(root: &Root, controller: &str) -> u64 {
    subsystem(root, controller).map_or(0, |subsystem| subsystem.groups)
}

fn subsystem(root: &Root, controller: &str) -> Option<cgroups::Subsystem> {
    let text = root.read("/proc/cgroups").ok()?;
    cgroups::subsystems(&text).into_iter().find(|subsystem| subsystem.name == controller)
}

/// Whether the hierarchy is mounted anywhere in this mount namespace.
fn is_mounted(root: &Root, controller: &str) -> bool {
    let text = root.read("/proc/self/mountinfo").unwrap_or_default();
    mountinfo::parse(&text).iter().any(|mount| mount.is_v1_of(controller))
}
