//! Whose folder is this? A folder is opened as ssh opens its keys: it and all above it must belong
//! to root or to the user, and nobody else may write there.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Gid, Mode, OFlags, Stat, Uid, fstat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::dir::{Dir, PASSAGE};
use crate::error::Error;

/// Whether a folder that others may change is taken all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// It is refused.
    #[default]
    Checked,
    /// The user has said that nobody there means harm (`--trust-folder`).
    Told,
}

/// The user who called, where root works for one (sudo).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The user's id.
    pub uid: u32,
    /// The user's group.
    pub gid: u32,
}

impl Caller {
    /// The one whom sudo names, if this process is root.
    #[must_use]
    pub fn of_sudo() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse().ok();
        if !geteuid().is_root() {
            return None;
        }
        let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
        (uid != 0).then_some(Self { uid, gid })
    }

    pub(crate) fn user(self) -> Uid {
        Uid::from_raw(self.uid)
    }

    pub(crate) fn group(self) -> Gid {
        Gid::from_raw(self.gid)
    }
}

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// What a user namespace shows for all whom it does not map (user_namespaces(7)).
const UNMAPPED: u32 = 65534;

/// A folder that was looked at. What exists of it is open, so that nobody can put something else
/// into its place between the look and the use.
#[derive(Debug)]
#[must_use = "what was looked at is what is to be used; the path may stand for something else by now"]
pub struct Checked {
    /// The deepest directory that exists.
    existing: OwnedFd,
    /// Its place, without links.
    at: PathBuf,
    /// What is missing below it.
    missing: Vec<OsString>,
    rule: Rule,
}

/// Who may own a folder and write there.
#[derive(Debug, Clone, Copy)]
struct Rule {
    also: Option<Caller>,
    trust: Trust,
}

/// Checks that nobody but root, this user and `also` can change what `path` stands for. What does
/// not exist yet is taken for made by us. A directory such as /tmp, where everybody may write but
/// only owners may rename (the sticky bit), is fine above something that is ours.
pub fn check(path: &Path, also: Option<Caller>, trust: Trust) -> Result<Checked, Error> {
    let rule = Rule { also, trust };
    let (whole, missing) = canonical(path)?;
    let mut at = PathBuf::from("/");
    let mut existing = step(CWD, &at, &at)?;
    let parts = whole.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part),
        _ => None,
    });
    let parts: Vec<_> = parts.collect();
    for index in 0..=parts.len() {
        let is_last = index == parts.len();
        rule.look(path, &at, &existing, !is_last || !missing.is_empty())?;
        if let Some(part) = parts.get(index) {
            at.push(part);
            existing = step(&existing, Path::new(part), &at)?;
        }
    }
    Ok(Checked { existing, at, missing, rule })
}

/// One step down, which no link leads elsewhere.
fn step(from: impl std::os::fd::AsFd, part: &Path, at: &Path) -> Result<OwnedFd, Error> {
    openat(from, part, PASSAGE | OFlags::NOFOLLOW, Mode::empty()).map_err(|cause| match cause {
        Errno::LOOP | Errno::NOTDIR => Error::new("open", at, Errno::NOTDIR),
        cause => Error::new("open", at, cause),
    })
}

impl Checked {
    /// Its place, without links.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.missing.iter().fold(self.at.clone(), |path, part| path.join(part))
    }

    /// Whether the deepest directory that exists is this user's.
    #[must_use]
    pub fn is_below(&self, caller: Caller) -> bool {
        fstat(&self.existing).is_ok_and(|found| found.st_uid == caller.uid)
    }

    /// Opens the folder that was looked at; it must exist.
    pub fn open(self) -> Result<Dir, Error> {
        match self.missing.is_empty() {
            true => Dir::over(&self.existing, self.at),
            false => Err(Error::new("open", &self.path(), Errno::NOENT)),
        }
    }

    /// The same, made where it is missing. Who was quicker in making it is looked at, too.
    pub fn make(self) -> Result<Dir, Error> {
        self.make_below(|dir| dir)
    }

    /// The same, of which what is made is its owner's alone.
    pub fn make_private(self) -> Result<Dir, Error> {
        self.make_below(Dir::private)
    }

    fn make_below(self, with: impl Fn(Dir) -> Dir) -> Result<Dir, Error> {
        let whole = self.path();
        let mut dir = with(Dir::over(&self.existing, self.at)?);
        for (index, part) in self.missing.iter().enumerate() {
            dir = dir.make_dir(part)?;
            let leads_on = index + 1 < self.missing.len();
            self.rule.look(&whole, dir.path(), &dir, leads_on)?;
        }
        Ok(dir)
    }
}

impl Rule {
    /// Looks at one directory. Who owns what lies in a sticky one is looked at in the next step.
    fn look(
        self,
        path: &Path,
        at: &Path,
        directory: impl std::os::fd::AsFd,
        leads_on: bool,
    ) -> Result<(), Error> {
        if self.trust == Trust::Told {
            return Ok(());
        }
        let found = fstat(&directory).map_err(|cause| Error::new("stat", at, cause))?;
        let is_friend = |uid: u32| {
            uid == 0
                || uid == geteuid().as_raw()
                || self.also.is_some_and(|caller| caller.uid == uid)
        };
        // The group of the same number is the user's own (user private groups, and root's); with a
        // umask of 002, which goes with them, all that a user makes may be written by it.
        // With an access list the bits of the group are the most that anybody named in it may do.
        let own_group = (found.st_gid == found.st_uid || found.st_gid == 0) && !has_access_list(at);
        let others = if own_group { WRITABLE_BY_OTHERS & !0o020 } else { WRITABLE_BY_OTHERS };
        let shared = found.st_mode & others != 0;
        let guarded = found.st_mode & STICKY != 0 && leads_on;
        if !is_friend(found.st_uid) || shared && !guarded {
            return Err(refusal(path, at, &found));
        }
        Ok(())
    }
}

/// Whether nobody but root, this user and the one who called sudo can put something into a directory.
pub(crate) fn is_guarded(directory: &OwnedFd) -> bool {
    let rule = Rule { also: Caller::of_sudo(), trust: Trust::Checked };
    let here = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let at = std::fs::read_link(here).unwrap_or_default();
    rule.look(&at, &at, directory, false).is_ok()
}

/// Whether a directory has an access list (acl(5)). A descriptor of O_PATH cannot be asked.
fn has_access_list(directory: &Path) -> bool {
    rustix::fs::lgetxattr(directory, c"system.posix_acl_access", &mut [0_u8; 0][..]).is_ok()
}

fn refusal(path: &Path, directory: &Path, found: &Stat) -> Error {
    let (uid, mode) = (found.st_uid, found.st_mode & 0o7777);
    let why = format!(
        "{} belongs to user {uid} and has mode {mode:04o}, so that others can put something else \
         there",
        directory.display()
    );
    let outside = match uid {
        UNMAPPED => {
            " (in a container, user 65534 stands for all whom it does not know, as where a directory \
             of its host is mounted into it)"
        }
        _ => "",
    };
    Error::refused("trust", path, why).with_hint(format!(
        "--trust-folder takes run and fleet folders as they are, if you know everybody who may \
         write there{outside}; or choose a folder that is yours and root's alone, or make it so \
         (`chown`, `chmod go-w {}`)",
        directory.display()
    ))
}

/// The part of a path that exists, without links, and the names below it that do not.
fn canonical(path: &Path) -> Result<(PathBuf, Vec<OsString>), Error> {
    let mut missing = Vec::new();
    let mut at = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    loop {
        match at.canonicalize() {
            Ok(existing) => {
                missing.reverse();
                return Ok((existing, missing));
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => return Err(Error::new("find", path, cause)),
        }
        let Some(name) = at.file_name() else {
            return Err(Error::refused("find", path, "it names no file"));
        };
        missing.push(name.to_owned());
        at = at.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    }
}
