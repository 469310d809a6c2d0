//! A cgroup v1 hierarchy of the run's own, for a controller that no mounted hierarchy serves.

use std::path::Path;
use std::time::Duration;

use assay_kernel::parse::{cgroups, mountinfo};
use assay_kernel::{Error, Root, mount};

use super::Ledger;
use super::change::Change;
use crate::poll_until::{wait_for_end, wait_until};

/// How long groups that were removed may take to go, and the hierarchy after them.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one try waits before it looks whether the hierarchy is gone.
const TRY: Duration = Duration::from_millis(500);

impl Ledger {
    /// Mounts a new v1 hierarchy with this one controller at `target`. The kernel refuses with
    /// EBUSY while another hierarchy uses the controller.
    pub fn mount_v1(&mut self, controller: &str, target: &Path) -> Result<(), Error> {
        let target = target.canonicalize().map_err(|cause| Error::new("mount", target, &cause))?;
        let change = Change::MountV1 { controller: controller.to_owned(), target: target.clone() };
        self.record(change, || mount::mount_v1(controller, &target))
    }
}

/// Unmounts the hierarchy and sees to it that it ends.
///
/// A hierarchy goes with its last mount only if it has no groups then (`cgroup_kill_sb` of
/// kernel/cgroup/cgroup.c), and groups that were removed take a moment to go. One that has stayed
/// keeps the controller for itself, is mounted again by the same request, and unmounted once more.
pub(super) fn release(root: &Root, controller: &str, target: &Path) -> Result<(), Error> {
    if !target.is_dir() {
        return Ok(());
    }
    let mut result = Ok(());
    let gone = wait_for_end(PATIENCE, || {
        result = release_once(root, controller, target);
        result.is_err() || !is_held(root, controller) || is_mounted(root, controller)
    });
    result?;
    if gone {
        return Ok(());
    }
    Err(Error::unexpected("unmount", target, "the hierarchy stays, groups in it have not gone"))
}

fn release_once(root: &Root, controller: &str, target: &Path) -> Result<(), Error> {
    if is_held(root, controller) && !is_mounted(root, controller) {
        mount::mount_v1(controller, target)?;
    }
    wait_until(TRY, || groups(root, controller) <= 1);
    // What else is mounted there is somebody else's.
    let is_ours = |mount: &mountinfo::Mount| mount.target == target && mount.is_v1_of(controller);
    super::undo::unmount_each(root, &is_ours)?;
    wait_until(TRY, || !is_held(root, controller));
    Ok(())
}

/// Whether a v1 hierarchy has the controller, mounted or not.
fn is_held(root: &Root, controller: &str) -> bool {
    subsystem(root, controller).is_some_and(|found| found.hierarchy != 0)
}

/// Groups of the hierarchy, its root among them, with those that are about to go.
fn groups(root: &Root, controller: &str) -> u64 {
    subsystem(root, controller).map_or(0, |found| found.groups)
}

fn subsystem(root: &Root, controller: &str) -> Option<cgroups::Subsystem> {
    let text = root.read("/proc/cgroups").ok()?;
    cgroups::subsystems(&text).into_iter().find(|found| found.name == controller)
}

/// Whether anybody has the hierarchy mounted in this process's sight.
fn is_mounted(root: &Root, controller: &str) -> bool {
    let text = root.read("/proc/self/mountinfo").unwrap_or_default();
    mountinfo::parse(&text).iter().any(|mount| mount.is_v1_of(controller))
}
