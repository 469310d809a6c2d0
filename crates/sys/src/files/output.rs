//! A file, stream or folder that the user names for output.
//!
//! A new file replaces an old one, so nothing that exists is ever opened and truncated. Streams (a
//! FIFO, a terminal, `/dev/stdout`) are written to as they are. A link is followed only where nobody
//! but root and the user could have created it; never in /tmp.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::files::caller::Caller;
use crate::files::dir::Dir;
use crate::files::draft::Draft;
use crate::files::error::Error;
use crate::files::resolve::{Resolved, find};

/// A destination for output.
#[derive(Debug)]
pub enum Output {
    /// A file that appears when it is finished; dropped before, it leaves nothing.
    Draft(Draft),
    /// A stream, written to immediately.
    Stream(File),
}

/// Opens what the user named for output. An existing file of the user's is replaced; a file of someone
/// else, and a link or FIFO that others could have put there, is refused.
pub fn output(path: &Path) -> Result<Output, Error> {
    opened(path).map_err(|error| match error.hint {
        None => error.with_hint("name a file in a folder that you may write to, or `/dev/stdout`"),
        Some(_) => error,
    })
}

/// Writes a complete document to the path that the user named.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut output = output(path)?;
    output.write_all(bytes).map_err(|cause| Error::new("write", path, cause))?;
    output.finish()
}

/// Opens the folder that the user named for output, creating it and its parents where they are missing.
pub fn output_dir(path: &Path) -> Result<Dir, Error> {
    match find("open", path) {
        Ok(way) => way.dir("open")?.make_dir(&way.name),
        // `.`, `/` and paths that end in `..` name an existing folder.
        Err(error) if error.is(Errno::ISDIR) => Dir::open(path),
        Err(error) => Err(error),
    }
}

fn opened(path: &Path) -> Result<Output, Error> {
    let way = find("write", path)?;
    let wrong = |cause: Errno| Error::new("write", path, cause);
    let follow = if way.is_own { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    let stat = match statat(&way.above, &way.name, follow) {
        Err(Errno::NOENT) => return Ok(Output::Draft(way.dir("write")?.draft(&way.name)?)),
        result => result.map_err(wrong)?,
    };
    let is_mine = stat.st_uid == geteuid().as_raw()
        || Caller::from_sudo().is_some_and(|caller| caller.uid == stat.st_uid);
    match FileType::from_raw_mode(stat.st_mode) {
        _ if way.is_own => stream(&way, &stat).map_err(wrong),
        FileType::RegularFile if is_mine => {
            let draft = way.dir("write")?.draft(&way.name)?;
            draft.resemble(&stat)?;
            Ok(Output::Draft(draft))
        }
        FileType::RegularFile => {
            let why = format!("it is a file of user {}, and is not replaced", stat.st_uid);
            Err(Error::refused("write", path, why)
                .with_hint("name another one, or remove it if you may"))
        }
        FileType::Fifo | FileType::CharacterDevice if is_mine || way.is_guarded() => {
            stream(&way, &stat).map_err(wrong)
        }
        FileType::Fifo | FileType::CharacterDevice => {
            let why = format!(
                "it is a stream of user {}, in a folder that others can write to",
                stat.st_uid
            );
            Err(Error::refused("write", path, why))
        }
        FileType::Directory => Err(wrong(Errno::ISDIR)),
        _ => Err(Error::refused("write", path, "it is neither a file nor a stream")),
    }
}

/// Opens the stream that was checked. A file behind one of our own descriptors (`/dev/stdout`) is
/// appended to, as by the shell that opened it.
fn stream(way: &Resolved, checked: &Stat) -> rustix::io::Result<Output> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOCTTY | OFlags::CLOEXEC;
    let follow = if way.is_own { OFlags::empty() } else { OFlags::NOFOLLOW };
    let file = File::from(openat(&way.above, &way.name, flags | follow, Mode::empty())?);
    let stat = fstat(&file)?;
    match (stat.st_dev, stat.st_ino) == (checked.st_dev, checked.st_ino) {
        true => Ok(Output::Stream(file)),
        false => Err(Errno::STALE),
    }
}

impl Output {
    /// The program's own stdout.
    pub fn stdout() -> io::Result<Self> {
        Ok(Self::Stream(File::from(io::stdout().as_fd().try_clone_to_owned()?)))
    }

    /// Renames a new file.
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
