//! A loop device and a small tmpfs made by the test, in place of a disk named by the user and of a full disk.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_test_support::TestLoop;

/// A loop device over a sparse file, removed when the test ends.
pub(crate) struct OwnDevice {
    pub(crate) node: PathBuf,
    _device: TestLoop,
}

impl OwnDevice {
    pub(crate) fn attach(image: &Path, mebi: u64) -> Self {
        let device = TestLoop::attach(image, mebi);
        Self { node: device.node(), _device: device }
    }

    pub(crate) fn make_ext4(&self) {
        self.format_ext4(&self.node);
    }

    /// Adds a partition of this size behind the first mebibyte to the kernel's table; it goes with the device.
    pub(crate) fn add_partition(&self, number: u32, mebi: u64) -> PathBuf {
        let [number, size] = [number.to_string(), (mebi << 11).to_string()];
        let arguments = [OsStr::new(&number), "2048".as_ref(), size.as_ref()];
        call("addpart", std::iter::once(self.node.as_os_str()).chain(arguments));
        PathBuf::from(format!("{}p{number}", self.node.display()))
    }

    pub(crate) fn format_ext4(&self, node: &Path) {
        call("mkfs.ext4", [OsStr::new("-q"), "-F".as_ref(), node.as_os_str()]);
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

/// A file system that the test has mounted, unmounted when the test ends.
pub(crate) struct Mounted {
    pub(crate) at: PathBuf,
}

impl Mounted {
    pub(crate) fn device(device: &OwnDevice, at: PathBuf) -> Self {
        Self::at_node(&device.node, at)
    }

    pub(crate) fn at_node(node: &Path, at: PathBuf) -> Self {
        fs::create_dir(&at).unwrap();
        call("mount", [node.as_os_str(), at.as_os_str()]);
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

impl Mounted {
    /// Leaves no room in it; a file system may have some within a page for files that exist.
    pub(crate) fn fill(&self) {
        let mut file = File::create(self.filler()).unwrap();
        for size in [1 << 20, 4096, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
    }

    pub(crate) fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }

    pub(crate) fn remount(&self, option: &str) {
        let option = format!("remount,{option}");
        call("mount", [OsStr::new("-o"), option.as_ref(), self.at.as_os_str()]);
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
