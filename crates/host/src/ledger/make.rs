//! The changes that a run can make, each recorded first.

use std::fs::File;
use std::path::{Path, PathBuf};

use assay_sys::files::{Caller, Dir, Identity};
use assay_sys::kernel::{Error, Root, block, mount, partition};

use super::change::{Area, Change};
use super::crash_point::crash_point;
use super::disk::{self, DiskIdentity, whole_disk};
use super::inside::Inside;
use super::{Ledger, queue};

impl Ledger {
    /// Writes `value` to a kernel file, unless the file already contains it.
    pub fn write_file(&mut self, root: &Root, path: &Path, value: &str) -> Result<(), Error> {
        let before = queue::value_of(&root.read(path)?);
        let set = value.trim().to_owned();
        if before == set {
            return Ok(());
        }
        let disk = disk::of_path(path).and_then(|name| DiskIdentity::read(root, &name));
        let change = Change::WriteFile { path: path.to_owned(), before, set, disk };
        self.record(change, || root.write(path, value))
    }

    /// Saves every writable attribute of the queue of disk `device` (`loop0`), because a change of
    /// scheduler resets others as a side effect.
    pub fn keep_queue(&mut self, root: &Root, device: &str) -> Result<(), Error> {
        self.keep_queue_of(root, device, DiskIdentity::read(root, device))
    }

    /// The same, for a disk of this identity; without one, it is restored whatever disk has the name.
    pub(super) fn keep_queue_of(
        &mut self,
        root: &Root,
        device: &str,
        disk: Option<DiskIdentity>,
    ) -> Result<(), Error> {
        let attributes = queue::read(root, device)?;
        let change = Change::KeepQueue { device: device.to_owned(), attributes, disk };
        self.record(change, || Ok(()))
    }

    /// Creates a directory and its missing parents.
    pub fn make_dir(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        if let Some(parent) = path.parent()
            && !root.exists(parent)
        {
            self.make_dir(root, parent)?;
        }
        let (above, name, path) = place_of(root, path)?;
        refuse_existing(&above, name, &path, "mkdir")?;
        self.record(Change::MakeDir { path }, || Ok(above.make_new_dir(name).map(|_| ())?))
    }

    /// Records that root took ownership of a run folder from the user who called sudo, to whom it is
    /// given when everything is restored.
    pub fn own_folder(&mut self, root: &Root, folder: &Dir, to: Caller) -> Result<(), Error> {
        let path = in_tree(root, &folder.current_path()?)?;
        let identity = folder.identity()?;
        let Caller { uid, gid } = to;
        self.record(Change::OwnFolder { path, uid, gid }, || Ok(()))?;
        self.note_made(identity)
    }

    /// Creates a directory all of whose contents will belong to this run, from any process. Its
    /// identity is on disk before anything can be in it.
    pub fn make_tree(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        let (above, name, path) = place_of(root, path)?;
        refuse_existing(&above, name, &path, "mkdir")?;
        let identity = self.record(Change::MakeTree { path: path.clone() }, || {
            let made = above.make_new_dir(name)?;
            if made.owner()? != rustix::process::geteuid().as_raw() {
                let hint = "someone else replaced it while it was created";
                return Err(Error::unexpected("mkdir", &path, hint));
            }
            Ok(made.identity()?)
        })?;
        self.note_made(identity)
    }

    /// Creates a control group; its parent must exist.
    pub fn make_group(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        refuse_existing_group(root, path, "make group")?;
        self.record(Change::MakeGroup { path: path.to_owned() }, || root.make_dir(path))
    }

    /// Creates many control groups with one sync, parents before children.
    pub fn make_groups(&mut self, root: &Root, paths: &[PathBuf]) -> Result<(), Error> {
        for path in paths {
            refuse_existing_group(root, path, "make group")?;
        }
        let _inside = Inside::of(self.path());
        self.intend(paths.iter().map(|path| Change::MakeGroup { path: path.clone() }).collect())?;
        for (made, path) in paths.iter().enumerate() {
            if let Err(error) = root.make_dir(path) {
                // This one and those after it were not created by this run.
                for _ in made..paths.len() {
                    self.forget_last()?;
                }
                return Err(error);
            }
            crash_point()?;
        }
        Ok(())
    }

    /// Creates a new file, open for reading and writing.
    pub fn make_file(&mut self, root: &Root, path: &Path) -> Result<File, Error> {
        let (above, name, path) = place_of(root, path)?;
        refuse_existing(&above, name, &path, "create")?;
        let file =
            self.record(Change::MakeFile { path: path.clone() }, || Ok(above.create(name)?))?;
        let identity = Identity::from_file(&file);
        self.note_made(identity.map_err(|cause| Error::new("stat", &path, &cause))?)?;
        Ok(file)
    }

    /// Adds partition `number` of `disk` to the kernel's table; start and length in bytes.
    pub fn add_partition(&mut self, disk: &Path, number: u32, area: Area) -> Result<(), Error> {
        self.record(added(disk, number), || partition::add(disk, number, area.start, area.length))
    }

    /// Records a partition that the kernel created by itself from a table of this run.
    pub(crate) fn adopt_partition(&mut self, disk: &Path, number: u32) -> Result<(), Error> {
        self.record(added(disk, number), || Ok(()))
    }

    /// Mounts the file system of type `kind` on `source` at `target`: on the directory that has this
    /// name now, even if it is renamed meanwhile.
    pub fn mount(
        &mut self,
        root: &Root,
        source: &Path,
        target: &Path,
        kind: &str,
    ) -> Result<(), Error> {
        let directory = Dir::open(target)?;
        let numbers = block::numbers(source)?.to_string();
        let disk = whole_disk(root, &numbers).and_then(|name| DiskIdentity::read(root, &name));
        let target = directory.current_path()?;
        let change = Change::Mount { target, device: Some(numbers), disk };
        self.record(change, || mount::mount(source, &directory.proc_path(), kind))
    }

    /// Creates a null block device at `path` in configfs with these attributes and powers it on.
    pub fn make_null_block(
        &mut self,
        root: &Root,
        path: &Path,
        attributes: &[(String, String)],
    ) -> Result<(), Error> {
        refuse_existing_group(root, path, "mkdir")?;
        self.record(Change::NullBlk { path: path.to_owned() }, || {
            root.make_dir(path)?;
            for (name, value) in attributes {
                crash_point()?;
                root.write(path.join(name), value)?;
            }
            crash_point()?;
            root.write(path.join("power"), "1")
        })
    }

    /// Records that signatures are about to be written into these areas of a blank disk.
    pub fn write_signatures(
        &mut self,
        root: &Root,
        disk: &Path,
        areas: Vec<Area>,
    ) -> Result<(), Error> {
        let identity = DiskIdentity::read(root, &disk::whole_disk_of_node(root, disk));
        let first_sector = disk::first_sector(root, &disk::sysfs_of_node(disk));
        let device = disk.to_owned();
        let change = Change::WriteSignatures { device, areas, disk: identity, first_sector };
        self.record(change, || Ok(()))
    }
}

fn added(node: &Path, number: u32) -> Change {
    let disk = DiskIdentity::read(&Root::real(), &disk::of_node(node));
    Change::AddPartition { device: node.to_owned(), number, disk }
}

/// The open directory in which `path` is to be created, so that everything that follows happens there;
/// the name; and the path without links, so that none has to be followed later.
fn place_of<'p>(root: &Root, path: &'p Path) -> Result<(Dir, &'p Path, PathBuf), Error> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::unexpected("make", path, "it does not name a file or directory"));
    };
    let above = Dir::open(&root.resolve(parent))?.keeping_owner();
    let whole = in_tree(root, &above.current_path()?)?.join(name);
    Ok((above, Path::new(name), whole))
}

/// The path as seen by the host, whose tree may be a fake one.
fn in_tree(root: &Root, path: &Path) -> Result<PathBuf, Error> {
    let top = root.resolve("/").canonicalize();
    let top = top.map_err(|cause| Error::new("find", path, &cause))?;
    let below = path.strip_prefix(&top).map_err(|_| {
        let hint = "a link leads outside the fake host tree";
        Error::unexpected("find", path, hint)
    })?;
    Ok(Path::new("/").join(below))
}

/// The directory that holds `path`, reached without following a link, and the name in it.
pub(super) fn above<'p>(root: &Root, path: &'p Path) -> Result<(Dir, &'p Path), Error> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let dir = Dir::open(&root.resolve("/"))?.dir(parent.strip_prefix("/").unwrap_or(parent))?;
    Ok((dir.keeping_owner(), Path::new(path.file_name().unwrap_or_default())))
}

/// Something that exists already was created by someone else and must not be removed.
fn refuse_existing(
    above: &Dir,
    name: &Path,
    path: &Path,
    operation: &'static str,
) -> Result<(), Error> {
    match above.identity_of(name)? {
        Some(_) => Err(exists(path, operation)),
        None => Ok(()),
    }
}

/// The same for paths below the kernel's own directories.
fn refuse_existing_group(root: &Root, path: &Path, operation: &'static str) -> Result<(), Error> {
    match root.resolve(path).symlink_metadata() {
        Ok(_) => Err(exists(path, operation)),
        Err(_) => Ok(()),
    }
}

fn exists(path: &Path, operation: &'static str) -> Error {
    Error::unexpected(operation, path, "it exists already and was not made by this run")
}
