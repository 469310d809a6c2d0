//! Whether this kernel can create null block devices.

use crate::facts::Available;
use assay_sys::kernel::Root;

/// The configfs directory in which null_blk devices are created (Documentation/block/null_blk.rst).
pub(crate) const NULLB: &str = "/sys/kernel/config/nullb";

pub(super) fn null_blk(root: &Root) -> Available<()> {
    if root.exists(NULLB) {
        return Available::Value(());
    }
    Available::NotAvailable(format!("there is no {NULLB}: no null_blk, or no configfs"))
}
