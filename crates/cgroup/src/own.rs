//! Assay's own place on cgroup v2. Only a group without processes can hand domain controllers
//! down (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint"; the root of
//! the hierarchy is exempt), so that an Assay that sits in the very group that was delegated to
//! its user first moves into a leaf of it.

use std::path::Path;

use assay_host::Ledger;
use assay_kernel::{Error, Root};

/// Moves this process into a leaf of `base` when it sits there and `base` is not the root of the
/// hierarchy. The leaf is in the ledger; taking it back moves this process up again. Refuses when
/// other processes sit there, which are not Assay's to move.
pub(crate) fn step_aside(root: &Root, ledger: &mut Ledger, base: &Path) -> Result<(), Error> {
    // Every group but the root of the hierarchy has this file.
    if !root.exists(base.join("cgroup.type")) {
        return Ok(());
    }
    let own = std::process::id();
    let inside = root.read(base.join("cgroup.procs"))?;
    let inside: Vec<u32> = inside.lines().filter_map(|line| line.parse().ok()).collect();
    if let Some(other) = inside.iter().find(|pid| **pid != own) {
        let hint = format!(
            "process {other} sits in it, and cgroup v2 gives controllers only to a group without \
             processes: start Assay alone in a group, `systemd-run --user --scope -p Delegate=yes \
             assay ...`"
        );
        return Err(Error::unexpected("enable controllers in", base, hint));
    }
    if inside.is_empty() {
        return Ok(());
    }
    let leaf = base.join(format!("assay-self-{own}"));
    ledger.make_group(root, &leaf)?;
    root.write(leaf.join("cgroup.procs"), &own.to_string())
}
