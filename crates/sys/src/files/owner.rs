//! Ownership checks of folders. As ssh checks its keys: a folder and everything above it must belong to
//! root or to the user, and nobody else may write there.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::files::caller::Caller;
use crate::files::dir::{Dir, PASSAGE};
use crate::files::error::Error;

/// Whether a folder that others may change is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// It is refused.
    #[default]
    Checked,
    /// The user has confirmed that nobody there means harm (`--allow-shared-dir`).
    UserConfirmed,
}

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The id that a user namespace shows for all users it does not map (user_namespaces(7)).
const UNMAPPED: u32 = 65534;

/// A folder that was checked. The part that exists is kept open, so that nobody can swap it between
/// check and use.
#[derive(Debug)]
#[must_use = "use the folder that was checked; the path may lead to something else by now"]
pub struct Checked {
    /// The deepest directory that exists.
    existing: OwnedFd,
    /// Its path, without links.
    at: PathBuf,
    /// The components that do not exist yet.
    missing: Vec<OsString>,
    rule: Rule,
}

/// Who may own a folder and write there.
#[derive(Debug, Clone, Copy)]
struct Rule {
    also: Option<Caller>,
    trust: Trust,
}

/// Checks that nobody but root, this user and `also` can change what `path` leads to, links aside. What does not
/// exist yet counts as created by us. A directory such as /tmp, where everyone may write but only
/// owners may rename (the sticky bit), is fine above something of ours.
pub(crate) fn check_owners(
    path: &Path,
    also: Option<Caller>,
    trust: Trust,
) -> Result<Checked, Error> {
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
        rule.check(path, &at, &existing, !is_last || !missing.is_empty())?;
        if let Some(part) = parts.get(index) {
            at.push(part);
            existing = step(&existing, Path::new(part), &at)?;
        }
    }
    Ok(Checked { existing, at, missing, rule })
}

/// Opens the next component; a link is refused.
fn step(from: impl std::os::fd::AsFd, part: &Path, at: &Path) -> Result<OwnedFd, Error> {
    openat(from, part, PASSAGE | OFlags::NOFOLLOW, Mode::empty()).map_err(|cause| match cause {
        Errno::LOOP | Errno::NOTDIR => Error::new("open", at, Errno::NOTDIR),
        cause => Error::new("open", at, cause),
    })
}

impl Checked {
    /// Its path, without links.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.missing.iter().fold(self.at.clone(), |path, part| path.join(part))
    }

    /// Whether the deepest directory that exists belongs to this user.
    #[must_use]
    pub fn is_below(&self, caller: Caller) -> bool {
        fstat(&self.existing).is_ok_and(|stat| stat.st_uid == caller.uid)
    }

    /// Opens the folder that was checked; it must exist.
    pub fn open(self) -> Result<Dir, Error> {
        match self.missing.is_empty() {
            true => Dir::over(&self.existing, self.at),
            false => Err(Error::new("open", &self.path(), Errno::NOENT)),
        }
    }

    /// The same, created where it is missing. A folder that someone else created first is checked, too.
    pub fn make(self) -> Result<Dir, Error> {
        self.make_below(|dir| dir)
    }

    /// The same; what is created is accessible to its owner only.
    pub fn make_private(self) -> Result<Dir, Error> {
        self.make_below(Dir::private)
    }

    fn make_below(self, with: impl Fn(Dir) -> Dir) -> Result<Dir, Error> {
        let whole = self.path();
        let mut dir = with(Dir::over(&self.existing, self.at)?);
        for (index, part) in self.missing.iter().enumerate() {
            dir = dir.make_dir(part)?;
            let leads_on = index + 1 < self.missing.len();
            self.rule.check(&whole, dir.path(), &dir, leads_on)?;
        }
        Ok(dir)
    }
}

impl Rule {
    /// Checks one directory. The owner of an entry in a sticky directory is checked in the next step.
    fn check(
        self,
        path: &Path,
        at: &Path,
        directory: impl std::os::fd::AsFd,
        leads_on: bool,
    ) -> Result<(), Error> {
        if self.trust == Trust::UserConfirmed {
            return Ok(());
        }
        let stat = fstat(&directory).map_err(|cause| Error::new("stat", at, cause))?;
        let is_friend = |uid: u32| {
            uid == 0
                || uid == geteuid().as_raw()
                || self.also.is_some_and(|caller| caller.uid == uid)
        };
        // The group of the same number is the user's own (user private groups, and root's); with a
        // umask of 002, which goes with them, everything the user creates is writable by that group.
        // With an access list, the group bits are the mask: the most that anyone named in it may do.
        let own_group = (stat.st_gid == stat.st_uid || stat.st_gid == 0) && !has_access_list(at);
        let others = if own_group { WRITABLE_BY_OTHERS & !0o020 } else { WRITABLE_BY_OTHERS };
        let shared = stat.st_mode & others != 0;
        let guarded = stat.st_mode & STICKY != 0 && leads_on;
        if !is_friend(stat.st_uid) || shared && !guarded {
            return Err(refusal(path, at, &stat));
        }
        Ok(())
    }
}

impl Dir {
    /// Whether nobody but root, this user and the caller of sudo can create entries in it.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        is_guarded(self)
    }
}

/// The same of any directory.
pub(crate) fn is_guarded(directory: impl std::os::fd::AsFd) -> bool {
    let directory = directory.as_fd();
    let rule = Rule { also: Caller::from_sudo(), trust: Trust::Checked };
    let here = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let at = std::fs::read_link(here).unwrap_or_default();
    rule.check(&at, &at, directory, false).is_ok()
}

/// Whether a directory has an access list (acl(5)). This takes a path: `O_PATH` descriptors do not
/// support it.
fn has_access_list(directory: &Path) -> bool {
    rustix::fs::lgetxattr(directory, c"system.posix_acl_access", &mut [0_u8; 0][..]).is_ok()
}

fn refusal(path: &Path, directory: &Path, stat: &Stat) -> Error {
    let (uid, mode) = (stat.st_uid, stat.st_mode & 0o7777);
    let why = format!(
        "{} belongs to user {uid} and has mode {mode:04o}, so that others can put something else \
         there",
        directory.display()
    );
    let outside = match uid {
        UNMAPPED => {
            " (in a container, user 65534 stands for all users that it does not map, as where a directory \
             of its host is mounted into it)"
        }
        _ => "",
    };
    Error::refused("trust", path, why).with_hint(format!(
        "--allow-shared-dir accepts run and fleet folders as they are, if you trust everyone who may \
         write there{outside}; or choose a folder that is yours and root's alone, or make it so \
         (`chown`, `chmod go-w {}`)",
        directory.display()
    ))
}

/// The existing part of a path, without links, and the missing components below it.
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
            return Err(Error::refused("find", path, "it does not name a file"));
        };
        missing.push(name.to_owned());
        at = at.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    }
}
