//! Mounting and unmounting file systems.

use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::kernel::error::Error;

/// Mounts the file system of type `kind` on the block device `source` at `target`, without set-user-id
/// programs, devices or access times: reading must not write.
pub fn mount(source: &Path, target: &Path, kind: &str) -> Result<(), Error> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME;
    rustix::mount::mount(source, target, kind, flags, None).map_err(|cause| {
        Error::new("mount", target, &cause.into()).with_value(&source_text(source, kind))
    })
}

/// Unmounts the file system at `target`; EBUSY while a process uses it, EINVAL when nothing is mounted.
pub fn unmount(target: &Path) -> Result<(), Error> {
    rustix::mount::unmount(target, UnmountFlags::NOFOLLOW)
        .map_err(|cause| Error::new("unmount", target, &cause.into()))
}

fn source_text(source: &Path, kind: &str) -> String {
    format!("{kind} on {}", source.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmounting_an_unmounted_path_is_an_error_with_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let error = unmount(directory.path()).unwrap_err();
        // EPERM for a user that is not root.
        assert!(error.is(rustix::io::Errno::INVAL) || error.is(rustix::io::Errno::PERM), "{error}");
        assert_eq!(error.path, directory.path());
    }
}
