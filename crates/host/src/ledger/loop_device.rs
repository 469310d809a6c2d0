//! Loop devices of a run.
//!
//! A run adds a loop device of its own and removes it again, because a device that was attached once
//! keeps most of its queue settings: `rotational`, `read_ahead_kb`, `write_cache` and the discard
//! limits are set by attaching and stay after detaching, and of these `discard_max_hw_bytes` and
//! `write_zeroes_max_bytes` cannot be written (observed on Linux 6.18). An existing device is borrowed
//! only where none can be added; then every writable attribute is restored and those two stay as the
//! kernel leaves them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_sys::files::Identity;
use assay_sys::kernel::loop_device::{self, node};
use assay_sys::kernel::{Error, Root};
use rustix::io::Errno;

use super::Ledger;
use super::change::Change;
use super::crash_point::crash_point;
use super::queue::is_gone;
use super::while_busy::while_busy;
use crate::poll_until::{wait_for_end, wait_until};

const BLOCK: &str = "/sys/block";
const BLOCK_SIZE: u32 = 512;
const TIMEOUT: Duration = Duration::from_secs(5);

/// An image file to attach.
struct Image<'i> {
    file: &'i File,
    path: &'i Path,
    /// Device and inode.
    id: (u64, u64),
}

/// An attached loop device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopDevice {
    /// The kernel's name, `loop8`.
    pub name: String,
    /// Its device node.
    pub node: PathBuf,
    /// Whether it bypasses the page cache of its image.
    pub direct: bool,
}

impl Ledger {
    /// Attaches the open image, for reading and writing, to a loop device with direct I/O, if its file
    /// system supports it, and a logical block size of 512 bytes. `path` is the image's path.
    pub fn attach_loop(
        &mut self,
        root: &Root,
        file: &File,
        path: &Path,
    ) -> Result<LoopDevice, Error> {
        let wrong = |cause: &std::io::Error| Error::new("find", path, cause);
        let path = path.canonicalize().map_err(|cause| wrong(&cause))?;
        let identity = Identity::from_file(file).map_err(|cause| wrong(&cause))?;
        let image = Image { file, path: &path, id: (identity.device, identity.inode) };
        match self.add_loop(root, &image)? {
            Some(number) => self.attach(root, number, &image),
            None => self.borrow_loop(root, &image, &numbers(root)?),
        }
    }

    /// Adds a loop device with a number above all others; `None` if this host refuses or does not show
    /// its node (a container with a /dev of its own).
    fn add_loop(&mut self, root: &Root, image: &Image<'_>) -> Result<Option<u32>, Error> {
        const RIVALS: usize = 16;
        for _ in 0..RIVALS {
            let number = numbers(root)?.last().map_or(0, |last| last + 1);
            let mark = self.mark();
            let (path, file) = (Some(image.path.to_owned()), Some(image.id));
            let change = Change::AddLoop { number, image: path, file };
            match self.record(change, || loop_device::add(number)) {
                // Another process has just added the same number.
                Err(error) if error.is(Errno::EXIST) => {}
                Err(_) => return Ok(None),
                Ok(()) if wait_until(Duration::from_secs(2), || node(number).exists()) => {
                    return Ok(Some(number));
                }
                Ok(()) => return self.restore_to(root, mark).pop().map_or(Ok(None), Err),
            }
        }
        Ok(None)
    }

    fn attach(&mut self, root: &Root, number: u32, image: &Image<'_>) -> Result<LoopDevice, Error> {
        let node = node(number);
        let change = Change::AttachLoop { image: image.path.to_owned(), file: Some(image.id) };
        self.record(change, || loop_device::configure(&node, image.file, true, BLOCK_SIZE))?;
        let name = format!("loop{number}");
        let direct = root.read_trimmed(attribute(&name, "dio")).is_ok_and(|value| value == "1");
        Ok(LoopDevice { name, node, direct })
    }

    /// Uses the first free device of `candidates`.
    fn borrow_loop(
        &mut self,
        root: &Root,
        image: &Image<'_>,
        candidates: &[u32],
    ) -> Result<LoopDevice, Error> {
        for &number in candidates {
            let name = format!("loop{number}");
            if root.exists(attribute(&name, "backing_file")) || !node(number).exists() {
                continue;
            }
            let mark = self.mark();
            // Attaching gives the disk a new identity; the queue stays the same.
            self.keep_queue_of(root, &name, None)?;
            match self.attach(root, number, image) {
                // Another process has just taken it: its settings are not ours to restore.
                Err(error) if error.is(Errno::BUSY) => self.forget_since(mark)?,
                other => return other,
            }
        }
        let hint = "no free loop device: `losetup -a` lists them, `modprobe loop` adds them";
        Err(Error::unexpected("attach", image.path, hint))
    }

    fn forget_since(&mut self, mark: super::Mark) -> Result<(), Error> {
        while self.mark() != mark {
            self.forget_last()?;
        }
        Ok(())
    }
}

fn attribute(name: &str, attribute: &str) -> PathBuf {
    Path::new(BLOCK).join(name).join("loop").join(attribute)
}

/// Numbers of all loop devices, sorted.
fn numbers(root: &Root) -> Result<Vec<u32>, Error> {
    let names = root.list(BLOCK)?;
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("loop")?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Loop devices to which `image` is attached. Directories above it may have been renamed, but its own
/// name stays: a file of another name is not one that a run created.
fn attached(root: &Root, image: &Path, id: Option<(u64, u64)>) -> Result<Vec<u32>, Error> {
    let has_its_name = |number: u32| {
        backing_file(root, number).is_some_and(|path| path.file_name() == image.file_name())
    };
    let is_attached = |number: &u32| {
        has_its_name(*number) && has_image(root, *number, Some(image), id) == Some(true)
    };
    Ok(numbers(root)?.into_iter().filter(is_attached).collect())
}

/// Whether this image is attached to a loop device: compared by device and inode where these were
/// recorded, since a directory above it may have been renamed. `None` where nothing is attached.
fn has_image(
    root: &Root,
    number: u32,
    image: Option<&Path>,
    id: Option<(u64, u64)>,
) -> Option<bool> {
    let named = backing_file(root, number)?;
    let attached_id = id.and_then(|_| loop_device::backing(&node(number)).ok());
    Some(match (id, attached_id) {
        (Some(recorded), Some(attached)) => recorded == attached,
        _ => Some(&*named) == image,
    })
}

/// The file attached to a loop device.
fn backing_file(root: &Root, number: u32) -> Option<PathBuf> {
    let text = root.read(attribute(&format!("loop{number}"), "backing_file")).ok()?;
    let path = text.trim_end_matches('\n');
    // The kernel appends this when the image has been unlinked.
    Some(PathBuf::from(path.strip_suffix(" (deleted)").unwrap_or(path)))
}

/// Detaches `image` from every loop device and waits until the kernel has done so.
pub(super) fn detach(root: &Root, image: &Path, id: Option<(u64, u64)>) -> Result<(), Error> {
    for number in attached(root, image, id)? {
        match while_busy(|| loop_device::detach(&node(number))) {
            Err(error) if !is_gone(&error) => return Err(error),
            _ => {}
        }
    }
    let mut remaining = Vec::new();
    let detached = wait_for_end(TIMEOUT, || {
        remaining = attached(root, image, id).unwrap_or_default();
        remaining.is_empty()
    });
    if detached {
        return Ok(());
    }
    let hint =
        format!("still open: `fuser -v {}` shows by which process", node(remaining[0]).display());
    Err(Error::unexpected("detach", image, hint))
}

/// Removes a loop device that this run added for `image`. With another image attached it belongs to
/// someone who took the number after ours was detached, and is left to them.
pub(super) fn remove(
    root: &Root,
    number: u32,
    image: Option<&Path>,
    id: Option<(u64, u64)>,
) -> Result<(), Error> {
    let is_theirs = || has_image(root, number, image, id) == Some(false);
    let mut result = Ok(());
    wait_for_end(TIMEOUT, || {
        result = crash_point().and_then(|()| loop_device::remove(number));
        let busy = matches!(&result, Err(error) if error.is(Errno::BUSY));
        if busy && image.is_some() && is_theirs() {
            result = Ok(());
        }
        !busy || result.is_ok()
    });
    match result {
        Err(error) if is_gone(&error) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use assay_test_support::Need;

    use super::*;

    fn queue(name: &str) -> BTreeMap<PathBuf, String> {
        let entries = fs::read_dir(Path::new(BLOCK).join(name).join("queue")).unwrap();
        let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        files.map(|path| (path.clone(), fs::read_to_string(path).unwrap_or_default())).collect()
    }

    #[test]
    fn a_borrowed_device_keeps_two_attributes_that_cannot_be_written() {
        let Some(_lock) = assay_test_support::host_lock("a borrowed loop device", &[Need::Loop])
        else {
            return;
        };
        let root = Root::real();
        let number = numbers(&root).unwrap_or_default().last().map_or(0, |last| last + 1);
        // A device that was never attached shows most changes.
        if let Err(error) = loop_device::add(number) {
            return assay_test_support::skip("a borrowed loop device", &error.to_string());
        }
        let name = format!("loop{number}");
        let before = queue(&name);
        let state = tempfile::tempdir().unwrap();
        let image = state.path().join("assay-image");
        let file = File::create_new(&image).unwrap();
        file.set_len(8 << 20).unwrap();
        let id = Identity::from_file(&file).unwrap();
        let image = Image { file: &file, path: &image, id: (id.device, id.inode) };
        let mut ledger = Ledger::begin(state.path(), "borrow").unwrap();
        let device = ledger.borrow_loop(&root, &image, &[number]).unwrap();
        assert_eq!(device.name, name);
        fs::write(Path::new(BLOCK).join(&name).join("queue/scheduler"), "bfq").unwrap();
        let errors = ledger.restore(&root);
        let after = queue(&name);
        remove(&root, number, None, None).unwrap();
        assert_eq!(errors, []);
        for (path, value) in before {
            let attribute = path.file_name().unwrap().to_str().unwrap();
            if !["discard_max_hw_bytes", "write_zeroes_max_bytes"].contains(&attribute) {
                assert_eq!(after[&path], value, "{attribute}");
            }
        }
    }
}
