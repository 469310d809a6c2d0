//! The user for whom root works.

use rustix::fs::{Gid, Uid};
use rustix::process::geteuid;

/// The user for whom root works (sudo).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The user's id.
    pub uid: u32,
    /// The user's group.
    pub gid: u32,
}

impl Caller {
    /// The user named by sudo, if this process is root.
    #[must_use]
    pub fn from_sudo() -> Option<Self> {
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
