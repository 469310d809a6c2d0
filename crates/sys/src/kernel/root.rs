//! The root directory of kernel files: the host's, or that of a fake tree.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::kernel::error::Error;
use crate::kernel::reread_file::RereadFile;

/// A file of a file system: its device and inode numbers. The same file has the same ones through every mount, also
/// in a container.
pub type FileId = (u64, u64);

/// The longest file that is read as a whole, in bytes: ten times the types of a kernel.
const MOST: u64 = 64 << 20;

/// The names in a directory, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entries {
    /// Subdirectories whose names are UTF-8.
    pub directories: Vec<String>,
    /// How many others there are: no path of text leads to them.
    pub unnamed: usize,
    /// Files, links and all else.
    pub others: Vec<String>,
}

/// Who may access a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The user who owns it.
    pub uid: u32,
    /// The group of users that it belongs to.
    pub gid: u32,
    /// Its permission bits.
    pub mode: u32,
}

/// The directory that contains /proc, /sys and /dev: `/` on a host, a fake tree in a test. Every path
/// passed to its methods is absolute, as on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    directory: PathBuf,
    /// Whether somebody else may have made it: only regular files of it are read.
    is_foreign: bool,
}

impl Root {
    /// The host itself.
    #[must_use]
    pub fn real() -> Self {
        Self::at(Path::new("/"))
    }

    /// A fake host tree.
    #[must_use]
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), is_foreign: false }
    }

    /// A tree that somebody else may have made, with anything at any path.
    #[must_use]
    pub fn foreign(directory: &Path) -> Self {
        Self { is_foreign: true, ..Self::at(directory) }
    }

    /// Whether this is the host itself, where system calls apply.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.directory == Path::new("/")
    }

    /// The path in this tree for `path` on the host.
    pub fn resolve(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.directory.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The whole file as text. Bytes that are not UTF-8 are replaced, since kernel files may contain
    /// names chosen by users.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        self.read_at_most(path, MOST)
    }

    /// Opens a file for reading. One of a foreign tree that is not a regular file is refused: it could make its reader wait, or
    /// never end.
    pub(crate) fn open(&self, path: &Path) -> io::Result<fs::File> {
        let path = self.resolve(path);
        if !self.is_foreign {
            return fs::File::open(path);
        }
        let check = |metadata: fs::Metadata| match (metadata.is_file(), metadata.len()) {
            (false, _) => Err(io::Error::other("it is not a regular file")),
            (true, MOST..) => Err(io::Error::other(format!("it is longer than {MOST} bytes"))),
            (true, _) => Ok(()),
        };
        // Before opening: a driver may act on that.
        check(fs::metadata(&path)?)?;
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        check(file.metadata()?)?;
        Ok(file)
    }

    /// The file's text if it is at most `limit` bytes long.
    pub fn read_at_most(&self, path: impl AsRef<Path>, limit: u64) -> Result<String, Error> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        self.open(path)
            .and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut bytes))
            .map_err(|cause| Error::new("read", path, &cause))?;
        if bytes.len() as u64 > limit {
            let why = format!("it is longer than {limit} bytes");
            return Err(Error::unexpected("read", path, why));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The mount table of this process, as this tree shows it. In a container that has the host's root in a folder
    /// (`-v /:/host:ro`) that folder precedes the mounts of the host, and the container's own are not the host's.
    pub fn mount_table(&self) -> Result<String, Error> {
        let table = self.read_at_most("/proc/self/mountinfo", MOST)?;
        let folder = self.directory.to_string_lossy().trim_end_matches('/').to_owned();
        let below: Vec<String> =
            table.lines().filter_map(|line| without_prefix(line, &folder)).collect();
        Ok(if self.is_real() || below.is_empty() { table } else { below.join("\n") + "\n" })
    }

    /// Where a symbolic link points, as text.
    pub fn link(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        let path = path.as_ref();
        fs::read_link(self.resolve(path))
            .map(|target| target.to_string_lossy().into_owned())
            .map_err(|cause| Error::new("read the link", path, &cause))
    }

    /// The file's text, trimmed.
    pub fn read_trimmed(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        self.read(path).map(|text| text.trim().to_owned())
    }

    /// Writes `value` with one write(2), as interface files require. The file must exist: a misspelt
    /// attribute is an error and never creates a file.
    pub fn write(&self, path: impl AsRef<Path>, value: &str) -> Result<(), Error> {
        let path = path.as_ref();
        let wrong = |cause: &io::Error| Error::new("write", path, cause).with_value(value);
        let mut file = fs::OpenOptions::new()
            .write(true)
            .truncate(!self.is_real())
            .open(self.resolve(path))
            .map_err(|cause| wrong(&cause))?;
        let written = file.write(value.as_bytes()).map_err(|cause| wrong(&cause))?;
        if written != value.len() {
            return Err(Error::unexpected(
                "write",
                path,
                "the kernel accepted only a part of the value",
            )
            .with_value(value));
        }
        Ok(())
    }

    /// Whether `path` exists.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.resolve(path).exists()
    }

    /// Whether `path` is a directory.
    pub fn is_directory(&self, path: impl AsRef<Path>) -> bool {
        self.resolve(path).is_dir()
    }

    /// Who may access the file at `path`.
    pub fn access(&self, path: impl AsRef<Path>) -> Result<Access, Error> {
        let path = path.as_ref();
        let metadata =
            fs::metadata(self.resolve(path)).map_err(|cause| Error::new("stat", path, &cause))?;
        let mode = metadata.permissions().mode() & 0o7777;
        Ok(Access { uid: metadata.uid(), gid: metadata.gid(), mode })
    }

    /// Number of links to `path`. A control group has two, and one for each group in it.
    pub fn links(&self, path: impl AsRef<Path>) -> Result<u64, Error> {
        let path = path.as_ref();
        fs::metadata(self.resolve(path))
            .map(|metadata| metadata.nlink())
            .map_err(|cause| Error::new("stat", path, &cause))
    }

    /// Device and inode numbers of the file at `path`.
    pub fn file_id(&self, path: impl AsRef<Path>) -> Result<FileId, Error> {
        let path = path.as_ref();
        fs::metadata(self.resolve(path))
            .map(|metadata| (metadata.dev(), metadata.ino()))
            .map_err(|cause| Error::new("stat", path, &cause))
    }

    /// Names in a directory, sorted.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        let path = path.as_ref();
        let wrong = |cause: &io::Error| Error::new("list", path, cause);
        let mut names = Vec::new();
        for entry in fs::read_dir(self.resolve(path)).map_err(|cause| wrong(&cause))? {
            let entry = entry.map_err(|cause| wrong(&cause))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Names of the subdirectories of a directory, sorted. The kernel returns the type of each entry,
    /// so a group with dozens of interface files needs no stat of each.
    pub fn directories(&self, path: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        self.entries(path).map(|entries| entries.directories)
    }

    /// What is in a directory, in one reading.
    pub fn entries(&self, path: impl AsRef<Path>) -> Result<Entries, Error> {
        let path = path.as_ref();
        let wrong = |cause: &io::Error| Error::new("list", path, cause);
        let mut entries = Entries::default();
        for entry in fs::read_dir(self.resolve(path)).map_err(|cause| wrong(&cause))? {
            let entry = entry.map_err(|cause| wrong(&cause))?;
            let name = entry.file_name();
            match (entry.file_type().is_ok_and(|kind| kind.is_dir()), name.to_str()) {
                (true, Some(name)) => entries.directories.push(name.to_owned()),
                (true, None) => entries.unnamed += 1,
                (false, _) => entries.others.push(name.to_string_lossy().into_owned()),
            }
        }
        entries.directories.sort();
        // A directory that changes while it is read may show a name twice.
        entries.directories.dedup();
        entries.others.sort();
        Ok(entries)
    }

    /// Creates one directory; its parent must exist.
    pub fn make_dir(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        fs::create_dir(self.resolve(path)).map_err(|cause| Error::new("mkdir", path, &cause))
    }

    /// Removes one empty directory. A control group counts as empty although it shows files.
    pub fn remove_dir(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        fs::remove_dir(self.resolve(path)).map_err(|cause| Error::new("rmdir", path, &cause))
    }

    /// Opens a file for repeated reading.
    pub fn open_reread(&self, path: impl AsRef<Path>) -> Result<RereadFile, Error> {
        let path = path.as_ref();
        let file = self.open(path).map_err(|cause| Error::new("open", path, &cause))?;
        Ok(RereadFile::new(file))
    }
}

/// A line of the mount table with its mount point (the fifth field) below `folder`, without it.
fn without_prefix(line: &str, folder: &str) -> Option<String> {
    let mut fields: Vec<&str> = line.split(' ').collect();
    let target = fields.get(4)?.strip_prefix(folder)?;
    match target {
        "" => fields[4] = "/",
        below if below.starts_with('/') => fields[4] = below,
        _ => return None,
    }
    Some(fields.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_foreign_tree_are_read() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::foreign(tree.path());
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::from(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, tree.path().join("fifo"), fifo, mode, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", tree.path().join("zero")).unwrap();
        fs::create_dir(tree.path().join("folder")).unwrap();
        fs::File::create(tree.path().join("sparse")).unwrap().set_len(6 << 30).unwrap();
        fs::write(tree.path().join("weight"), "100\n").unwrap();
        std::os::unix::fs::symlink("weight", tree.path().join("link")).unwrap();
        for name in ["/fifo", "/zero", "/folder", "/sparse"] {
            assert!(root.read(name).is_err() && root.open_reread(name).is_err(), "{name}");
        }
        assert_eq!(root.read_trimmed("/link").unwrap(), "100");
    }

    #[test]
    fn a_misspelt_attribute_is_an_error_and_creates_no_file() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let error = root.write("/sys/block/loop0/queue/shceduler", "bfq").unwrap_err();
        assert!(error.is(rustix::io::Errno::NOENT));
        assert!(error.to_string().contains("(value `bfq`)"), "{error}");
        assert!(!root.exists("/sys/block/loop0/queue/shceduler"));
    }

    #[test]
    fn mounts_of_a_host_in_a_folder_are_shown_without_the_folder() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("proc/self")).unwrap();
        let folder = tree.path().display();
        let line = |point: &str| format!("29 1 0:26 / {point} ro - cgroup2 none rw");
        let (own, next) = (line("/sys/fs/cgroup"), line(&format!("{folder}-2/sys")));
        let write = |lines: &[String]| {
            fs::write(tree.path().join("proc/self/mountinfo"), lines.join("\n") + "\n").unwrap();
        };
        let root = Root::at(tree.path());
        write(&[
            own.clone(),
            line(&format!("{folder}/sys/fs/cgroup")),
            next,
            line(&folder.to_string()),
        ]);
        assert_eq!(root.mount_table().unwrap(), format!("{own}\n{}\n", line("/")));
        write(std::slice::from_ref(&own));
        assert_eq!(root.mount_table().unwrap(), format!("{own}\n"), "a tree with paths of its own");
    }

    #[test]
    fn directories_are_listed_without_the_files_between_them() {
        let tree = tempfile::tempdir().unwrap();
        for name in ["b", "a"] {
            fs::create_dir(tree.path().join(name)).unwrap();
        }
        fs::write(tree.path().join("cgroup.procs"), "").unwrap();
        let root = Root::at(tree.path());
        assert_eq!(root.directories("/").unwrap(), ["a", "b"]);
        assert_eq!(root.entries("/").unwrap().others, ["cgroup.procs"]);
    }

    #[test]
    fn directories_whose_names_are_not_utf8_are_counted() {
        use std::os::unix::ffi::OsStrExt;
        let tree = tempfile::tempdir().unwrap();
        for name in [&b"a"[..], b"a\xff", b"a\xfe", "a\u{fffd}".as_bytes()] {
            fs::create_dir(tree.path().join(std::ffi::OsStr::from_bytes(name))).unwrap();
        }
        let entries = Root::at(tree.path()).entries("/").unwrap();
        assert_eq!(entries.directories, ["a", "a\u{fffd}"]);
        assert_eq!(entries.unnamed, 2);
    }

    #[test]
    fn a_file_is_read_up_to_a_limit() {
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("value"), "1234").unwrap();
        let root = Root::at(tree.path());
        assert_eq!(root.read_at_most("/value", 4).unwrap(), "1234");
        let error = root.read_at_most("/value", 3).unwrap_err().to_string();
        assert!(error.contains("longer than 3 bytes"), "{error}");
    }

    #[test]
    fn a_shorter_value_replaces_a_longer_one_in_a_fake_tree() {
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("scheduler"), "mq-deadline\n").unwrap();
        let root = Root::at(tree.path());
        root.write("/scheduler", "bfq").unwrap();
        assert_eq!(root.read("/scheduler").unwrap(), "bfq");
    }
}
