//! Repeats what fails because something is still in use.

use std::time::Duration;

use assay_sys::kernel::parse::mountinfo;
use assay_sys::kernel::{Error, Root, mount};
use rustix::io::Errno;

use super::crash_point::crash_point;
use crate::poll_until::wait_for_end;

/// Time limit for something in use before its restore is given up.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Repeats an action that fails with EBUSY until it succeeds or a time limit has passed.
pub(super) fn while_busy(action: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    while_busy_for(TIMEOUT, action)
}

/// The same with another time limit.
pub(super) fn while_busy_for(
    timeout: Duration,
    mut action: impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    let mut result = Ok(());
    wait_for_end(timeout, || {
        result = crash_point().and_then(|()| action());
        !matches!(&result, Err(error) if error.is(Errno::BUSY))
    });
    result
}

/// Unmounts every mount that `is_ours`, the last one first. A mount of someone else on top of it is an
/// obstacle and is not touched.
pub(super) fn unmount_each(
    root: &Root,
    is_ours: &dyn Fn(&mountinfo::Mount) -> bool,
) -> Result<(), Error> {
    loop {
        let mounts = mountinfo::parse(&root.read("/proc/self/mountinfo")?);
        let Some(at) = mounts.iter().rfind(|mount| is_ours(mount)).map(|mount| &mount.target)
        else {
            return Ok(());
        };
        // The last one covers the others, and is the one that unmounting removes.
        let last = mounts.iter().rfind(|mount| mount.target == *at);
        if let Some(over) = last.filter(|mount| !is_ours(mount)) {
            let hint = format!("{} is mounted over it: unmount that first", over.source);
            return Err(Error::unexpected("unmount", at, hint));
        }
        while_busy(|| mount::unmount(at)).map_err(|error| {
            error.with_hint(format!("end the processes that use it: fuser -vm {}", at.display()))
        })?;
    }
}
