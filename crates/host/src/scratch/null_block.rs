//! Null block devices, which complete requests immediately and so show the cost of the layers above.

use std::path::Path;

use crate::facts::NULL_BLK_REMEDY;
use assay_sys::kernel::{Error, Root};
use assay_sys::units::Bytes;

use super::Base;
use crate::Ledger;
use crate::collect::NULLB;
use crate::poll_until::wait_until;

/// Creates a null block device of `size` with these attributes.
pub(super) fn make(
    root: &Root,
    ledger: &mut Ledger,
    name: &str,
    size: Bytes,
    options: &[(String, String)],
) -> Result<Base, Error> {
    if !root.exists(NULLB) {
        let hint = format!("this kernel has no null_blk with configfs: {NULL_BLK_REMEDY}");
        return Err(Error::unexpected("find", Path::new(NULLB), hint));
    }
    let path = Path::new(NULLB).join(format!("assay-{name}"));
    let mut attributes = vec![("size".to_owned(), (size.get() >> 20).to_string())];
    attributes.extend_from_slice(options);
    ledger.make_null_block(root, &path, &attributes)?;
    // Old kernels name the device by its index, newer ones by its directory.
    let index = root.read_trimmed(path.join("index"))?;
    let candidates = [format!("nullb{index}"), format!("assay-{name}")];
    let mut device = None;
    wait_until(std::time::Duration::from_secs(5), || {
        device = candidates.iter().find(|name| Path::new("/dev").join(name).exists());
        device.is_some()
    });
    let device = device
        .ok_or_else(|| Error::unexpected("find", Path::new("/dev"), candidates.join(" or ")))?;
    Ok(Base {
        node: Path::new("/dev").join(device),
        device: device.clone(),
        notes: vec![
            "a null block device has no service time: shares are real, latencies are not".into(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_null_blk_is_reported_with_a_remedy() {
        let tree = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        let root = Root::at(tree.path());
        let error = make(&root, &mut ledger, "fast", Bytes::mebi(64), &[]).err().unwrap();
        assert!(error.to_string().contains("no null_blk"), "{error}");
        assert!(error.to_string().contains("virtual machine"), "{error}");
    }
}
