//! Namespaces of a process's own, which go when it ends (namespaces(7)). For processes that do
//! something to mounts or network devices that nobody else is to see.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

use crate::error::Error;
use crate::root::Root;

/// Gives the calling process mounts of its own, with an empty tmpfs at `place`.
pub fn own_mounts(place: &Path) -> Result<(), Error> {
    unshare(libc::CLONE_NEWNS, "a mount namespace")?;
    let wrong =
        |path: &Path, cause: rustix::io::Errno| Error::new("mount", path, &io::Error::from(cause));
    // Without this, mounts made here would show up outside too (mount_namespaces(7)).
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|cause| wrong(Path::new("/"), cause))?;
    mount("none", place, "tmpfs", MountFlags::NOSUID, None).map_err(|cause| wrong(place, cause))
}

/// Gives the calling process a network of its own, with a loopback device that is down and no
/// other. Its cgroups stay as they are.
pub fn own_network() -> Result<(), Error> {
    unshare(libc::CLONE_NEWNET, "a network namespace")
}

/// The network that the calling process is in, for requests that name one by descriptor.
pub fn network(root: &Root) -> Result<File, Error> {
    let path = Path::new("/proc/self/ns/net");
    File::open(root.resolve(path)).map_err(|cause| Error::new("open", path, &cause))
}

fn unshare(flags: i32, what: &str) -> Result<(), Error> {
    // SAFETY: unshare(2) takes flags by value; neither flag used here affects memory or
    // descriptors of this process.
    if unsafe { libc::unshare(flags) } == 0 {
        return Ok(());
    }
    let error = Error::new("unshare", Path::new("/proc/self"), &io::Error::last_os_error());
    Err(error.with_value(what).with_hint("it needs CAP_SYS_ADMIN"))
}
