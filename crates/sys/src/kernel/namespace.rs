//! Private namespaces of a process, which end with it (namespaces(7)), for processes that change mounts
//! without being visible to others.

use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

use crate::kernel::error::Error;

/// Gives the calling process mounts of its own, with an empty tmpfs at `target`.
pub fn own_mounts(target: &Path) -> Result<(), Error> {
    unshare(libc::CLONE_NEWNS, "a mount namespace")?;
    let wrong =
        |path: &Path, cause: rustix::io::Errno| Error::new("mount", path, &io::Error::from(cause));
    // Without this, mounts made here would also appear outside (mount_namespaces(7)).
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|cause| wrong(Path::new("/"), cause))?;
    mount("none", target, "tmpfs", MountFlags::NOSUID, None).map_err(|cause| wrong(target, cause))
}

/// Makes the group of the calling process the root of what it sees of cgroup v2 (cgroup_namespaces(7)).
pub fn own_groups() -> Result<(), Error> {
    unshare(libc::CLONE_NEWCGROUP, "a cgroup namespace")
}

fn unshare(flags: i32, what: &str) -> Result<(), Error> {
    // SAFETY: unshare(2) takes flags by value; no flag used here affects memory or descriptors of this
    // process.
    if unsafe { libc::unshare(flags) } == 0 {
        return Ok(());
    }
    let error = Error::new("unshare", Path::new("/proc/self"), &io::Error::last_os_error());
    Err(error.with_value(what).with_hint("it needs CAP_SYS_ADMIN"))
}
