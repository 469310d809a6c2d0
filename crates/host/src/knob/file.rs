//! Interface files of one version of the interface: groups that show them, mode, kernel versions.

use serde::Serialize;

use crate::knob::kernel_version::KernelVersion;

/// The groups of a hierarchy that show a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupScope {
    /// Every group, including the root.
    Everywhere,
    /// Every group except the root.
    Inside,
    /// Only the root.
    RootOnly,
}

/// Access mode of a file for root.
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

/// An interface file on one version of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// The groups that show it.
    pub scope: GroupScope,
    /// The first kernel whose root shows it too, if other groups showed it before.
    pub in_root_since: Option<KernelVersion>,
    /// Its access mode.
    pub mode: Mode,
    /// The first kernel in which it is writable, if later than the file itself.
    pub writable_since: Option<KernelVersion>,
    /// Whether its mode bits differ between kernels without a noticeable effect.
    pub mode_varies: bool,
    /// Whether every group shows it, even without its controller enabled.
    pub is_core: bool,
    /// The first kernel that has it.
    pub since: KernelVersion,
    /// The first kernel without it.
    pub until: Option<KernelVersion>,
    /// What it reads in a new group; `None` if that depends on host or time.
    pub default: Option<&'static str>,
    /// The configuration option that it needs, in addition to the controller's own.
    pub config: Option<&'static str>,
    /// A further condition for the file to be shown, as a clause.
    pub needs: Option<&'static str>,
}

impl File {
    const fn new(mode: Mode, since: KernelVersion) -> Self {
        Self {
            scope: GroupScope::Everywhere,
            in_root_since: None,
            mode,
            writable_since: None,
            mode_varies: false,
            is_core: false,
            since,
            until: None,
            default: None,
            config: None,
            needs: None,
        }
    }

    /// The reason why a kernel of this version has no such file, as a clause that follows "is", or
    /// `None` if it has one.
    #[must_use]
    pub fn why_not_in(&self, kernel: KernelVersion) -> Option<String> {
        if kernel < self.since {
            let since = self.since;
            return Some(format!("available since Linux {since}, but this kernel is {kernel}"));
        }
        let until = self.until.filter(|until| kernel >= *until)?;
        Some(format!("removed in Linux {until}, and this kernel is {kernel}"))
    }

    pub(crate) const fn inside(self) -> Self {
        Self { scope: GroupScope::Inside, ..self }
    }

    pub(crate) const fn root_only(self) -> Self {
        Self { scope: GroupScope::RootOnly, ..self }
    }

    pub(crate) const fn in_root_since(self, major: u16, minor: u16) -> Self {
        Self { in_root_since: Some(KernelVersion::new(major, minor)), ..self }
    }

    pub(crate) const fn core(self) -> Self {
        Self { is_core: true, ..self }
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

/// A file that can be read and written, since a release with two numbers.
pub(crate) const fn read_write(major: u16, minor: u16) -> File {
    File::new(Mode::ReadWrite, KernelVersion::new(major, minor))
}

/// A file that can only be read.
pub(crate) const fn read_only(major: u16, minor: u16) -> File {
    File::new(Mode::Read, KernelVersion::new(major, minor))
}

/// A file that can only be written.
pub(crate) const fn write_only(major: u16, minor: u16) -> File {
    File::new(Mode::Write, KernelVersion::new(major, minor))
}

/// A file that can be read and written, since a release 2.6.x.
pub(crate) const fn old_read_write(patch: u16) -> File {
    File::new(Mode::ReadWrite, KernelVersion::two_six(patch))
}

/// A file that can only be read, since a release 2.6.x.
pub(crate) const fn old_read_only(patch: u16) -> File {
    File::new(Mode::Read, KernelVersion::two_six(patch))
}

/// A file that can only be written, since a release 2.6.x.
pub(crate) const fn old_write_only(patch: u16) -> File {
    File::new(Mode::Write, KernelVersion::two_six(patch))
}
