//! A command to run in a guest, with what it needs of the host.

use std::path::PathBuf;

use assay_sys::units::Bytes;

/// A command to run in a guest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestTask {
    /// The command's arguments. No shell interprets them.
    pub command: Vec<Argument>,
    /// Its working directory; root's home if the guest has no such directory.
    pub directory: Option<PathBuf>,
    /// Its environment, besides PATH, HOME and the lab's variables.
    pub environment: Vec<(String, String)>,
    /// Host folders mounted read-only in the guest.
    pub mounts: Vec<ReadOnlyMount>,
    /// Programs, by their paths in the guest, that are started so often that they are copied into its memory.
    pub in_memory: Vec<String>,
    /// Folder to copy from the guest when the command has ended.
    pub results: Option<Results>,
    /// Size of a disk for [`crate::WORK`], formatted with ext4, for images of scratch disks;
    /// without it that folder is in the guest's memory.
    pub work: Option<Bytes>,
}

/// An argument of a command in a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// Literal text.
    Text(String),
    /// `block:` and the guest's device node of the disk with this number, counted from 1.
    Disk(usize),
}

/// Results to copy from a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results {
    /// Folder in the guest.
    pub from: String,
    /// Folder on the host, to which its regular files are copied.
    pub to: PathBuf,
}

/// A host folder mounted in the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOnlyMount {
    /// Absolute path in the guest.
    pub guest: PathBuf,
    /// Folder on the host.
    pub host: PathBuf,
}
