//! A file, a stream or a folder that the user names for output.
//!
//! A new file takes the place of an old one, so that nothing that exists is ever opened to be
//! emptied. Streams (a FIFO, a terminal, `/dev/stdout`) are written to as they are. A link counts
//! where nobody but root and the user could have made it; in /tmp none does.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::dir::Dir;
use crate::draft::Draft;
use crate::error::Error;
use crate::owner::Caller;
use crate::resolve::{Resolved, find};

/// What is written to.
#[derive(Debug)]
pub enum Output {
    /// A file that takes its place when it is finished; dropped before, it leaves nothing.
    Draft(Draft),
    /// Something that takes what is written at once.
    Stream(File),
}

/// Opens what the user named for output. A file of the user's own that is there already is replaced;
/// that of somebody else, and a link or a FIFO that others could have put there, is refused.
pub fn output(path: &Path) -> Result<Output, Error> {
    opened(path).map_err(|error| match error.hint {
        None => error.with_hint("name a file in a folder that you may write to, or `/dev/stdout`"),
        Some(_) => error,
    })
}

/// Writes a whole document where the user wants it.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut output = output(path)?;
    output.write_all(bytes).map_err(|cause| Error::new("write", path, cause))?;
    output.finish()
}

/// Makes a file where the user wants it and none is.
pub fn create_new(path: &Path) -> Result<File, Error> {
    let way = find("create", path)?;
    way.dir("create")?.create(&way.name)
}

/// Opens the folder that the user named for output, and makes it with those above it where they are
/// missing.
pub fn output_dir(path: &Path) -> Result<Dir, Error> {
    match find("open", path) {
        Ok(way) => way.dir("open")?.make_dir(&way.name),
        // `.`, `/` and what ends in `..` name a folder that is there.
        Err(error) if error.is(Errno::ISDIR) => Dir::open(path),
        Err(error) => Err(error),
    }
}

fn opened(path: &Path) -> Result<Output, Error> {
    let way = find("write", path)?;
    let wrong = |cause: Errno| Error::new("write", path, cause);
    let follow = if way.is_own { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    let found = match statat(&way.above, &way.name, follow) {
        Err(Errno::NOENT) => return Ok(Output::Draft(way.dir("write")?.draft(&way.name)?)),
        found => found.map_err(wrong)?,
    };
    let is_mine = found.st_uid == geteuid().as_raw()
        || Caller::of_sudo().is_some_and(|caller| caller.uid == found.st_uid);
    match FileType::from_raw_mode(found.st_mode) {
        _ if way.is_own => stream(&way, &found).map_err(wrong),
        FileType::RegularFile if is_mine => {
            let draft = way.dir("write")?.draft(&way.name)?;
            draft.resemble(&found)?;
            Ok(Output::Draft(draft))
        }
        FileType::RegularFile => {
            let why = format!("it is a file of user {}, which is not replaced", found.st_uid);
            Err(Error::refused("write", path, why)
                .with_hint("name another one, or remove it if you may"))
        }
        FileType::Fifo | FileType::CharacterDevice if is_mine || way.is_guarded() => {
            stream(&way, &found).map_err(wrong)
        }
        FileType::Fifo | FileType::CharacterDevice => {
            let why = format!(
                "it is a stream of user {}, in a folder that others can write to",
                found.st_uid
            );
            Err(Error::refused("write", path, why))
        }
        FileType::Directory => Err(wrong(Errno::ISDIR)),
        _ => Err(Error::refused("write", path, "it is neither a file nor a stream")),
    }
}

/// Opens what was looked at. A file behind a descriptor of our own (`/dev/stdout`) is written to at its
/// end, as the shell that opened it does.
fn stream(way: &Resolved, looked_at: &Stat) -> rustix::io::Result<Output> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC;
    let follow = if way.is_own { OFlags::empty() } else { OFlags::NOFOLLOW };
    let file = File::from(openat(&way.above, &way.name, flags | follow, Mode::empty())?);
    let found = fstat(&file)?;
    match (found.st_dev, found.st_ino) == (looked_at.st_dev, looked_at.st_ino) {
        true => Ok(Output::Stream(file)),
        false => Err(Errno::STALE),
    }
}

impl Output {
    /// What the program's own stdout leads to.
    pub fn stdout() -> io::Result<Self> {
        Ok(Self::Stream(File::from(io::stdout().as_fd().try_clone_to_owned()?)))
    }

    /// Lets a new file take its place now, for those who read it while it grows.
    pub fn at_once(self) -> Result<Self, Error> {
        match self {
            Self::Draft(draft) => draft.into_place().map(Self::Stream),
            stream => Ok(stream),
        }
    }

    /// Lets a new file take its place.
    pub fn finish(self) -> Result<(), Error> {
        match self {
            Self::Draft(draft) => draft.commit(),
            Self::Stream(_) => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Draft(draft) => draft.write(bytes),
            Self::Stream(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Draft(draft) => draft.flush(),
            Self::Stream(file) => file.flush(),
        }
    }
}
