//! Assay's own group on cgroup v2. Only a group without processes can enable domain controllers for its
//! children (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint"; the root of the
//! hierarchy is exempt), so if Assay is in the very group that was delegated to its user, it first
//! moves into a leaf of it.

use std::path::Path;

use crate::Ledger;
use assay_sys::kernel::{Error, Root};

/// Moves this process into a leaf of `base` if it is in `base` and `base` is not the root of the
/// hierarchy. The leaf is in the ledger; restoring moves this process up again. Refuses if there are
/// other processes, which are not Assay's to move.
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
            "it contains process {other}, and cgroup v2 enables controllers only below a group without \
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
