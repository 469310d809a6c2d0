//! The changes that a run can make, each written down first.

use std::fs::File;
use std::path::{Path, PathBuf};

use assay_files::{Caller, Dir, Identity};
use assay_kernel::parse::choice;
use assay_kernel::{Error, Root, block, mount, partition};

use super::change::{Area, Change};
use super::crash_point::crash_point;
use super::disk::{self, DiskIdentity, whole_disk};
use super::{Ledger, queue};

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
        let disk = disk::of_path(path).and_then(|name| DiskIdentity::read(root, &name));
        let change = Change::WriteFile { path: path.to_owned(), before, set, disk };
        self.record(change, || root.write(path, value))
    }

    /// Remembers every writable attribute of the queue of disk `device` (`loop0`), because a
    /// change of scheduler resets others as a side effect.
    pub fn keep_queue(&mut self, root: &Root, device: &str) -> Result<(), Error> {
        self.keep_queue_of(root, device, DiskIdentity::read(root, device))
    }

    /// The same, for a disk of this identity; of none, it is put back whatever the name stands for.
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

    /// Makes a directory, and those above it that are missing.
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

    /// Takes note that a run folder was taken from the user who called sudo, whose it becomes when
    /// all is taken back.
    pub fn own_folder(&mut self, root: &Root, folder: &Dir, heir: Caller) -> Result<(), Error> {
        let path = in_tree(root, &folder.place()?)?;
        let identity = folder.identity()?;
        let Caller { uid, gid } = heir;
        self.record(Change::OwnFolder { path, uid, gid }, || Ok(()))?;
        self.note_made(identity)
    }

    /// Makes a directory whose whole content will be this run's, whoever puts it there. Which
    /// directory it is, is on the disk before anything can be in it.
    pub fn make_tree(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        let (above, name, path) = place_of(root, path)?;
        refuse_existing(&above, name, &path, "mkdir")?;
        let identity = self.record(Change::MakeTree { path: path.clone() }, || {
            let made = above.make_new_dir(name)?;
            if made.owner()? != rustix::process::geteuid().as_raw() {
                let hint = "somebody has exchanged it as it was made";
                return Err(Error::unexpected("mkdir", &path, hint));
            }
            Ok(made.identity()?)
        })?;
        self.note_made(identity)
    }

    /// Makes a control group; the group above it must exist.
    pub fn make_group(&mut self, root: &Root, path: &Path) -> Result<(), Error> {
        refuse_existing_group(root, path, "make group")?;
        self.record(Change::MakeGroup { path: path.to_owned() }, || root.make_dir(path))
    }

    /// Makes many control groups with one wait for the disk, parents before children.
    pub fn make_groups(&mut self, root: &Root, paths: &[PathBuf]) -> Result<(), Error> {
        for path in paths {
            refuse_existing_group(root, path, "make group")?;
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
            crash_point()?;
        }
        Ok(())
    }

    /// Makes a new file, open for reading and writing.
    pub fn make_file(&mut self, root: &Root, path: &Path) -> Result<File, Error> {
        let (above, name, path) = place_of(root, path)?;
        refuse_existing(&above, name, &path, "create")?;
        let file =
            self.record(Change::MakeFile { path: path.clone() }, || Ok(above.create(name)?))?;
        let identity = Identity::of_file(&file);
        self.note_made(identity.map_err(|cause| Error::new("stat", &path, &cause))?)?;
        Ok(file)
    }

    /// Tells the kernel of partition `number` of `disk`, start and length in bytes.
    pub fn add_partition(&mut self, disk: &Path, number: u32, area: Area) -> Result<(), Error> {
        self.record(added(disk, number), || partition::add(disk, number, area.start, area.length))
    }

    /// Takes over a partition that the kernel made by itself from a table of this run.
    pub(crate) fn adopt_partition(&mut self, disk: &Path, number: u32) -> Result<(), Error> {
        self.record(added(disk, number), || Ok(()))
    }

    /// Mounts the file system of type `kind` on `source` at `target`: on the directory that has that
    /// name now, whatever somebody gives it meanwhile.
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
        let target = directory.place()?;
        let change = Change::Mount { target, device: Some(numbers), disk };
        self.record(change, || mount::mount(source, &directory.here(), kind))
    }

    /// Makes a null block device at `path` in configfs with these attributes and powers it on.
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

    /// Notes that signatures are about to be written into these areas of a blank disk.
    pub fn write_signatures(
        &mut self,
        root: &Root,
        disk: &Path,
        areas: Vec<Area>,
    ) -> Result<(), Error> {
        let identity = DiskIdentity::read(root, &disk::of_node(disk));
        let change = Change::WriteSignatures { device: disk.to_owned(), areas, disk: identity };
        self.record(change, || Ok(()))
    }
}

fn added(node: &Path, number: u32) -> Change {
    let disk = DiskIdentity::read(&Root::real(), &disk::of_node(node));
    Change::AddPartition { device: node.to_owned(), number, disk }
}

/// The directory that `path` is to be made in, open, so that all that follows happens there; the
/// name; and the path with no link in it, so that none need be followed later.
fn place_of<'p>(root: &Root, path: &'p Path) -> Result<(Dir, &'p Path, PathBuf), Error> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::unexpected("make", path, "it names nothing that could be made"));
    };
    let above = Dir::open(&root.resolve(parent))?.keeping();
    let whole = in_tree(root, &above.place()?)?.join(name);
    Ok((above, Path::new(name), whole))
}

/// A place as the host knows it, which may stand in a tree of its own.
fn in_tree(root: &Root, place: &Path) -> Result<PathBuf, Error> {
    let top = root.resolve("/").canonicalize();
    let top = top.map_err(|cause| Error::new("find", place, &cause))?;
    let below = place.strip_prefix(&top).map_err(|_| {
        let hint = "a link leads out of the tree that stands in for the host";
        Error::unexpected("find", place, hint)
    })?;
    Ok(Path::new("/").join(below))
}

/// The directory that holds `path`, reached without following a link, and the name in it.
pub(super) fn above<'p>(root: &Root, path: &'p Path) -> Result<(Dir, &'p Path), Error> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let dir = Dir::open(&root.resolve("/"))?.dir(parent.strip_prefix("/").unwrap_or(parent))?;
    Ok((dir.keeping(), Path::new(path.file_name().unwrap_or_default())))
}

/// What exists already was made by someone else and must not be taken back.
fn refuse_existing(
    above: &Dir,
    name: &Path,
    path: &Path,
    operation: &'static str,
) -> Result<(), Error> {
    match above.look(name)? {
        Some(_) => Err(exists(path, operation)),
        None => Ok(()),
    }
}

/// The same of what lies below the kernel's own directories.
fn refuse_existing_group(root: &Root, path: &Path, operation: &'static str) -> Result<(), Error> {
    match root.resolve(path).symlink_metadata() {
        Ok(_) => Err(exists(path, operation)),
        Err(_) => Ok(()),
    }
}

fn exists(path: &Path, operation: &'static str) -> Error {
    Error::unexpected(operation, path, "it exists already and was not made by this run")
}
