//! The image behind a loop device.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use assay_sys::files::Dir;
use assay_sys::kernel::{Error, Root, filesystem};
use assay_sys::units::Bytes;
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

use super::{Base, Caller, Progress, ScratchSpec, check_stop};
use crate::Ledger;

/// Creates the image and attaches it.
pub(super) fn attach(
    root: &Root,
    ledger: &mut Ledger,
    spec: &ScratchSpec,
    directory: &Path,
    size: Bytes,
    caller: &mut Caller<'_>,
) -> Result<Base, Error> {
    if size.get() == 0 || !size.get().is_multiple_of(512) {
        let hint = format!("the size of a disk must be a multiple of 512 bytes, not {size}");
        return Err(Error::unexpected("set up", Path::new(&spec.name), hint));
    }
    // The directory's path may change once it is open.
    let directory = Dir::open(&root.resolve(directory))?;
    let image_dir = directory.current_path()?;
    check_space(&image_dir, size)?;
    let name = format!("assay-{}-{}.img", spec.name, std::process::id());
    let path = directory.proc_path().join(&name);
    let mut file = ledger.make_file(root, &path)?;
    fill(&mut file, &image_dir.join(&name), size.get(), caller)?;
    let device = ledger.attach_loop(root, &file, &path)?;
    let notes = if device.direct {
        Vec::new()
    } else {
        vec![format!(
            "the file system of {} does not support direct I/O, so {} goes through the page cache",
            image_dir.display(),
            device.name
        )]
    };
    Ok(Base { device: device.name, node: device.node, notes })
}

/// Room that images of so many bytes need: 5 % are spared for the file system's own needs.
#[must_use]
pub fn with_spare(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 20)
}

/// The image must fit, with room to spare.
fn check_space(directory: &Path, size: Bytes) -> Result<(), Error> {
    let needed = with_spare(size.get());
    let free = filesystem::free_space(directory)?;
    if free >= needed {
        return Ok(());
    }
    let hint = format!(
        "{} MiB are free and {} MiB are needed: free some space, reduce the disk's `size`, \
         or choose another directory for images",
        free >> 20,
        needed >> 20
    );
    Err(Error::unexpected("make a scratch image in", directory, hint))
}

/// Writes every byte, with data that no lower layer can compress or deduplicate: neither holes nor
/// zeros may be read instead of the disk.
pub(super) fn fill(
    file: &mut File,
    path: &Path,
    size: u64,
    caller: &mut Caller<'_>,
) -> Result<(), Error> {
    const CHUNK: u64 = 2 << 20;
    let wrong = |cause: &std::io::Error| Error::new("fill", path, cause);
    let mut generator = SmallRng::seed_from_u64(size);
    let mut buffer = vec![0; CHUNK as usize];
    let mut written = 0;
    while written < size {
        check_stop(caller.stop, path)?;
        let length = CHUNK.min(size - written);
        let part = &mut buffer[..usize::try_from(length).unwrap_or(0)];
        generator.fill_bytes(part);
        file.write_all(part).map_err(|cause| wrong(&cause))?;
        written += length;
        (caller.progress)(Progress::Filling { done: written, total: size });
    }
    file.sync_all().map_err(|cause| wrong(&cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_full_of_data_that_does_not_repeat() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let mut file = File::create_new(&path).unwrap();
        let mut last = 0;
        let mut progress = |step| {
            if let Progress::Filling { done, .. } = step {
                last = done;
            }
        };
        let mut caller = Caller { stop: &|| false, progress: &mut progress };
        let size = (4 << 20) + 512;
        fill(&mut file, &path, size, &mut caller).unwrap();
        assert_eq!(last, size);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len() as u64, size);
        let blocks: std::collections::BTreeSet<&[u8]> = bytes.chunks(512).collect();
        assert_eq!(blocks.len() as u64, size / 512, "no two blocks are the same");
    }

    #[test]
    fn filling_stops_on_request() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let mut file = File::create_new(&path).unwrap();
        let mut caller = Caller { stop: &|| true, progress: &mut |_| {} };
        let error = fill(&mut file, &path, 1 << 30, &mut caller).unwrap_err();
        assert!(error.to_string().contains("interrupted"), "{error}");
        assert_eq!(file.metadata().unwrap().len(), 0);
    }

    #[test]
    fn an_image_that_does_not_fit_is_refused_with_what_is_free_and_needed() {
        let directory = tempfile::tempdir().unwrap();
        let error = check_space(directory.path(), Bytes::new(1 << 60)).unwrap_err().to_string();
        assert!(error.contains(&directory.path().display().to_string()), "{error}");
        assert!(error.contains("are free and 1154487209164 MiB are needed"), "{error}");
    }
}
