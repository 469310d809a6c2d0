//! `device`: uses devices on command, `open r|w|rw PATH` or `mknod c|b MAJOR MINOR`, and prints
//! `done` or `refused ERRNO`. Nodes are created in a private tmpfs.
//!
//! `delegate`: makes its group the root of a cgroup namespace, then writes to files on command, `write PATH TEXT`,
//! and prints the same.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use assay_sys::kernel::{Error, Root, namespace};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::{number, refused_or, serve, shown};

/// Mount point of the tmpfs: a directory that every system has and this probe does not need.
const MOUNT_POINT: &str = "/tmp";

pub(super) fn run(out: &mut dyn Write) -> Result<(), String> {
    let mut nodes = 0;
    serve(out, |words, _| {
        let used = match words {
            ["open", mode, path] => open(mode, path),
            ["mknod", kind, major, minor] => {
                let numbers = (number(major)?, number(minor)?);
                make_node(&mut nodes, kind, numbers)
            }
            _ => return Ok(None),
        };
        Ok(Some(refused_or(used, "done")))
    })
}

pub(super) fn delegate(out: &mut dyn Write) -> Result<(), String> {
    namespace::own_groups().map_err(shown)?;
    serve(out, |words, _| match words {
        ["write", path, text] => Ok(Some(refused_or(Root::real().write(path, text), "done"))),
        _ => Ok(None),
    })
}

fn open(mode: &str, path: &str) -> Result<(), Error> {
    let opened = OpenOptions::new().read(mode.contains('r')).write(mode.contains('w')).open(path);
    opened.map(|_| ()).map_err(|cause| Error::new("open", Path::new(path), &cause))
}

fn make_node(nodes: &mut u32, kind: &str, (major, minor): (u32, u32)) -> Result<(), Error> {
    if *nodes == 0 {
        namespace::own_mounts(Path::new(MOUNT_POINT))?;
    }
    *nodes += 1;
    let kind = if kind == "b" { FileType::BlockDevice } else { FileType::CharacterDevice };
    let path = Path::new(MOUNT_POINT).join(format!("node{nodes}"));
    mknodat(CWD, &path, kind, Mode::RUSR | Mode::WUSR, makedev(major, minor))
        .map_err(|errno| Error::new("create", &path, &errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_is_refused_with_its_errno() {
        assert_eq!(refused_or(open("r", "/dev/null"), "done"), "done");
        let noent = rustix::io::Errno::NOENT.raw_os_error();
        assert_eq!(refused_or(open("r", "/nonexistent"), "done"), format!("refused {noent}"));
    }
}
