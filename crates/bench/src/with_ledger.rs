//! Changes that a measurement makes to the host, and that are taken back whatever it comes to.

use std::path::Path;

use assay_host::Ledger;
use assay_kernel::Root;

use crate::failure::Failure;

/// Does the work with a ledger in `state`, and takes back what it changed. After SIGKILL that ledger
/// does it.
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
