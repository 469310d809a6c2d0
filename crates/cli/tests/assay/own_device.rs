//! A loop device and a small tmpfs made by the test, in place of a disk named by the user and of a full disk.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device over a sparse file, detached when the test ends.
pub(crate) struct OwnDevice {
    pub(crate) node: PathBuf,
}

impl OwnDevice {
    pub(crate) fn attach(image: &Path, mebi: u64) -> Self {
        File::create(image).unwrap().set_len(mebi << 20).unwrap();
        let arguments = [OsStr::new("--find"), OsStr::new("--show"), image.as_os_str()];
        let output = Command::new("losetup").args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Self { node: PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()) }
    }

    pub(crate) fn make_ext4(&self) {
        call("mkfs.ext4", [OsStr::new("-q"), self.node.as_os_str()]);
    }

    /// Whether the kernel still has it attached to its file.
    pub(crate) fn is_attached_to(&self, image: &Path) -> bool {
        let name = self.node.file_name().unwrap();
        let file = Path::new("/sys/block").join(name).join("loop/backing_file");
        fs::read_to_string(file).is_ok_and(|text| Path::new(text.trim()) == image)
    }

    /// The lines of a study's disk that name it.
    pub(crate) fn as_disk(&self) -> String {
        format!("use = \"block\"\ndevice = \"{}\"\nscheduler = \"bfq\"", self.node.display())
    }
}

impl Drop for OwnDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.node).status();
    }
}

/// A file system that the test has mounted, unmounted when the test ends.
pub(crate) struct Mounted {
    pub(crate) at: PathBuf,
}

impl Mounted {
    pub(crate) fn device(device: &OwnDevice, at: PathBuf) -> Self {
        fs::create_dir(&at).unwrap();
        call("mount", [device.node.as_os_str(), at.as_os_str()]);
        Self { at }
    }

    /// A small file system in memory.
    pub(crate) fn tmpfs(at: PathBuf, mebi: u64) -> Self {
        fs::create_dir(&at).unwrap();
        let size = format!("size={mebi}m,mode=0700");
        let arguments = ["-t", "tmpfs", "-o", &size, "assay-test"].map(OsStr::new);
        call("mount", arguments.into_iter().chain([at.as_os_str()]));
        Self { at }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

fn call<'a>(program: &str, arguments: impl IntoIterator<Item = &'a OsStr>) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
}
