//! Whether this kernel makes null block devices on request.

use assay_facts::Available;
use assay_kernel::Root;

/// The directory of configfs in which null_blk makes devices (Documentation/block/null_blk.rst).
pub(crate) const NULLB: &str = "/sys/kernel/config/nullb";

/// What to do where [`NULLB`] is missing.
pub(crate) const REMEDY: &str = "modprobe null_blk nr_devices=0 and mount -t configfs none \
     /sys/kernel/config, or run the study in a virtual machine whose kernel has it (assay lab run)";

pub(super) fn null_blk(root: &Root) -> Available<()> {
    if root.exists(NULLB) {
        return Available::Value(());
    }
    Available::NotAvailable(format!("there is no {NULLB}: no null_blk, or no configfs"))
}
