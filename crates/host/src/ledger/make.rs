//! The changes that a run can make, each written down first.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assay_kernel::parse::choice;
use assay_kernel::{Error, Root, mount, partition};
use rustix::fs::{major, minor};

use super::change::{Area, Change};
use super::instant::instant;
use super::{Ledger, queue, undo};

/// The value of an attribute: of a list of choices the one in brackets, else the whole text.
pub(super) fn value_of(text: &str) -> String {
    match choice::parse(text) {
        Some(choice) if text.contains('[') => choice.active,
        _ => text.trim().to_owned(),
    }
}

impl Ledger {
    /// Writes `value` into a kernel file, unless it says so already.
    pub fn write_file(&mut self, root: &Root, path: &Path, value: &str) -> Result<(), Error> {
        let before = value_of(&root.read(path)?);
        let set = value.trim().to_owned();
        if before == set {
            return Ok(());
        }
        let change = Change::WriteFile { path: path.to_owned(), before, set };
        self.record(change, || root.write(path, value))
    }

    /// Remembers every writable attribute of the queue of disk `device` (`loop0`), because a
    /// change of scheduler resets others as a side effect.
    pub fn keep_queue(&mut self, root: &Root, device: &str) -> Result<(), Error> {
        let attributes = queue::read(root, device)?;
        let change = Change::KeepQueue { device: device.to_owned(), attributes };
        self.record(change, || Ok(()))
    }

    /// Makes a directory, and those above it that are missing.
    pub fn make_dir(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        if let Some(parent) = path.parent()
            && !root.exists(parent)
        {
            self.make_dir(root, parent)?;
        }
        refuse_existing(root, path, "mkdir")?;
        self.record(Change::MakeDir { path: path.to_owned() }, || root.make_dir(path))
    }

    /// Makes a directory whose whole content will be this run's, whoever puts it there.
    pub fn make_tree(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        refuse_existing(root, path, "mkdir")?;
        self.record(Change::MakeTree { path: path.to_owned() }, || root.make_dir(path))
    }

    /// Makes a control group; the group above it must exist.
    pub fn make_group(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        refuse_existing(root, path, "make group")?;
        self.record(Change::MakeGroup { path: path.to_owned() }, || root.make_dir(path))
    }

    /// Makes many control groups with one wait for the disk, parents before children.
    pub fn make_groups(&mut self, root: &Root, paths: &[PathBuf]) -> Result<(), Error> {
        for path in paths {
            refuse_existing(root, path, "make group")?;
        }
        self.intend(paths.iter().map(|path| Change::MakeGroup { path: path.clone() }).collect())?;
        for (made, path) in paths.iter().enumerate() {
            if let Err(error) = root.make_dir(path) {
                // This one and those after it were not made by this run.
                for _ in made..paths.len() {
                    self.forget_last()?;
                }
                return Err(error);
            }
            instant()?;
        }
        Ok(())
    }

    /// Makes a new file, open for reading and writing.
    pub fn make_file(&mut self, root: &Root, path: &Path) -> Result<File, Error> {
        refuse_existing(root, path, "create")?;
        self.record(Change::MakeFile { path: path.to_owned() }, || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(root.resolve(path))
                .map_err(|cause| Error::new("create", path, &cause))
        })
    }

    /// Tells the kernel of partition `number` of `disk`, start and length in bytes.
    pub fn add_partition(&mut self, disk: &Path, number: u32, area: Area) -> Result<(), Error> {
        let change = Change::AddPartition { device: disk.to_owned(), number };
        self.record(change, || partition::add(disk, number, area.start, area.length))
    }

    /// Takes over a partition that the kernel made by itself from a table of this run.
    pub(crate) fn adopt_partition(&mut self, disk: &Path, number: u32) -> Result<(), Error> {
        self.record(Change::AddPartition { device: disk.to_owned(), number }, || Ok(()))
    }

    /// Mounts the file system of type `kind` on `source` at `target`.
    pub fn mount(&mut self, source: &Path, target: &Path, kind: &str) -> Result<(), Error> {
        let target = target.canonicalize().map_err(|cause| Error::new("mount", target, &cause))?;
        let found = source.metadata().map_err(|cause| Error::new("stat", source, &cause))?.rdev();
        let device = Some(format!("{}:{}", major(found), minor(found)));
        let change = Change::Mount { target: target.clone(), device };
        self.record(change, || mount::mount(source, &target, kind))
    }

    /// Makes a null block device at `path` in configfs with these attributes and powers it on.
    pub fn make_null_block(
        &mut self,
        root: &Root,
        path: &Path,
        attributes: &[(String, String)],
    ) -> Result<(), Error> {
        refuse_existing(root, path, "mkdir")?;
        self.record(Change::NullBlk { path: path.to_owned() }, || {
            root.make_dir(path)?;
            for (name, value) in attributes {
                instant()?;
                root.write(path.join(name), value)?;
            }
            instant()?;
            root.write(path.join("power"), "1")
        })
    }

    /// Notes that signatures are about to be written into these areas of a blank disk.
    pub fn write_signatures(
        &mut self,
        root: &Root,
        disk: &Path,
        areas: Vec<Area>,
    ) -> Result<(), Error> {
        let serial = undo::serial_of(root, disk);
        let change = Change::WriteSignatures { device: disk.to_owned(), areas, serial };
        self.record(change, || Ok(()))
    }
}

/// What exists already was made by someone else and must not be taken back.
fn refuse_existing(root: &Root, path: &Path, operation: &'static str) -> Result<(), Error> {
    if root.resolve(path).symlink_metadata().is_ok() {
        let hint = "it exists already and was not made by this run";
        return Err(Error::unexpected(operation, path, hint));
    }
    Ok(())
}
