//! Runs a closure under a ledger and always restores the host.

use std::path::Path;

use assay_host::Ledger;
use assay_sys::kernel::Root;

use crate::failure::Failure;

/// Calls `work` with a ledger in `state` and restores its changes. After SIGKILL the ledger allows
/// that later.
pub(crate) fn with_ledger<T>(
    state: &Path,
    name: &str,
    work: impl FnOnce(&Root, &mut Ledger) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let root = Root::real();
    let mut ledger = Ledger::begin(state, &format!("{name}-{}", std::process::id()))?;
    let measured = work(&root, &mut ledger);
    if let Some(error) = ledger.restore(&root).into_iter().next() {
        return Err(Failure::Failed(format!("not restored: {error}")));
    }
    ledger.finish()?;
    measured
}
