//! Where an interface file exists, and who may do what with it.

use serde::Serialize;

use crate::kernel_version::KernelVersion;

/// The groups of a hierarchy that show a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Every group, the root as well.
    Everywhere,
    /// Every group but the root.
    Inside,
    /// The root alone.
    RootOnly,
}

/// What root may do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Mode 0644.
    ReadWrite,
    /// Mode 0444.
    Read,
    /// Mode 0200.
    Write,
}

impl Mode {
    /// The permission bits that the kernel gives the file.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::ReadWrite => 0o644,
            Self::Read => 0o444,
            Self::Write => 0o200,
        }
    }
}

/// A file under its own name on one version of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// The groups that show it.
    pub place: Place,
    /// The first kernel whose root shows it too, where groups inside showed it before.
    pub in_root_since: Option<KernelVersion>,
    /// What root may do with it.
    pub mode: Mode,
    /// The first kernel in which it may be written, where that is later than the file itself.
    pub writable_since: Option<KernelVersion>,
    /// Whether its mode bits differ between kernels for no reason that a user would notice.
    pub mode_varies: bool,
    /// Whether it belongs to the owner of a delegated subtree: in /sys/kernel/cgroup/delegate, or
    /// handed over by every delegating program on v1.
    pub is_delegatable: bool,
    /// Whether every group shows it, with its controller enabled or not.
    pub is_core: bool,
    /// The first kernel that has it.
    pub since: KernelVersion,
    /// The first kernel that has it no more.
    pub until: Option<KernelVersion>,
    /// What it reads in a new group; `None` where that depends on host or time.
    pub default: Option<&'static str>,
    /// The option that the kernel must be built with, besides the controller's own.
    pub config: Option<&'static str>,
    /// What else must hold for the file to be shown, as a clause.
    pub needs: Option<&'static str>,
}

impl File {
    const fn new(mode: Mode, since: KernelVersion) -> Self {
        Self {
            place: Place::Everywhere,
            in_root_since: None,
            mode,
            writable_since: None,
            mode_varies: false,
            is_delegatable: false,
            is_core: false,
            since,
            until: None,
            default: None,
            config: None,
            needs: None,
        }
    }

    /// Why a kernel of this version has no such file, as a clause that follows "is", or `None` if
    /// it has.
    #[must_use]
    pub fn why_not_in(&self, kernel: KernelVersion) -> Option<String> {
        if kernel < self.since {
            let since = self.since;
            return Some(format!("there since Linux {since} only, and this kernel is {kernel}"));
        }
        let until = self.until.filter(|until| kernel >= *until)?;
        Some(format!("gone since Linux {until}, and this kernel is {kernel}"))
    }

    /// Whether the root of a hierarchy, or a group inside, shows it under a kernel of this
    /// version; an unknown version is taken for the newest.
    #[must_use]
    pub fn is_shown(&self, in_root: bool, kernel: Option<KernelVersion>) -> bool {
        let came_to_root = |since: KernelVersion| kernel.is_none_or(|kernel| kernel >= since);
        match self.place {
            Place::Everywhere => !in_root || self.in_root_since.is_none_or(came_to_root),
            Place::Inside => !in_root,
            Place::RootOnly => in_root,
        }
    }

    /// The mode bits under a kernel of this version; `None` where they differ between kernels.
    #[must_use]
    pub fn mode_bits(&self, kernel: KernelVersion) -> Option<u32> {
        let is_writable = self.writable_since.is_some_and(|since| kernel >= since);
        let mode = if is_writable { Mode::ReadWrite } else { self.mode };
        (!self.mode_varies).then(|| mode.bits())
    }

    pub(crate) const fn inside(self) -> Self {
        Self { place: Place::Inside, ..self }
    }

    pub(crate) const fn root_only(self) -> Self {
        Self { place: Place::RootOnly, ..self }
    }

    pub(crate) const fn in_root_since(self, major: u16, minor: u16) -> Self {
        Self { in_root_since: Some(KernelVersion::new(major, minor)), ..self }
    }

    pub(crate) const fn core(self) -> Self {
        Self { is_core: true, ..self }
    }

    pub(crate) const fn delegatable(self) -> Self {
        Self { is_delegatable: true, ..self }
    }

    pub(crate) const fn reads(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    pub(crate) const fn until(self, major: u16, minor: u16) -> Self {
        Self { until: Some(KernelVersion::new(major, minor)), ..self }
    }

    pub(crate) const fn writable_since(self, major: u16, minor: u16) -> Self {
        Self { writable_since: Some(KernelVersion::new(major, minor)), ..self }
    }

    pub(crate) const fn mode_varies(self) -> Self {
        Self { mode_varies: true, ..self }
    }

    pub(crate) const fn config(self, option: &'static str) -> Self {
        Self { config: Some(option), ..self }
    }

    pub(crate) const fn needs(self, clause: &'static str) -> Self {
        Self { needs: Some(clause), ..self }
    }
}

/// A file that is read and written, since a release of two numbers.
pub(crate) const fn read_write(major: u16, minor: u16) -> File {
    File::new(Mode::ReadWrite, KernelVersion::new(major, minor))
}

/// A file that is only read.
pub(crate) const fn read_only(major: u16, minor: u16) -> File {
    File::new(Mode::Read, KernelVersion::new(major, minor))
}

/// A file that is only written.
pub(crate) const fn write_only(major: u16, minor: u16) -> File {
    File::new(Mode::Write, KernelVersion::new(major, minor))
}

/// A file that is read and written, since a release 2.6.x.
pub(crate) const fn old_read_write(patch: u16) -> File {
    File::new(Mode::ReadWrite, KernelVersion::two_six(patch))
}

/// A file that is only read, since a release 2.6.x.
pub(crate) const fn old_read_only(patch: u16) -> File {
    File::new(Mode::Read, KernelVersion::two_six(patch))
}

/// A file that is only written, since a release 2.6.x.
pub(crate) const fn old_write_only(patch: u16) -> File {
    File::new(Mode::Write, KernelVersion::two_six(patch))
}
