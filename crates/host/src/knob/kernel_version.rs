//! Kernel versions, for comparing a host with the table.

use std::fmt;

/// A release of Linux: `6.1`, or `2.6.24` for old releases with three numbers. Suffixes
/// (`-18-amd64`) and patch levels of later releases do not affect interface files and are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelVersion {
    major: u16,
    minor: u16,
    patch: u16,
}

impl KernelVersion {
    /// A release with two numbers.
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor, patch: 0 }
    }

    /// A release 2.6.x.
    #[must_use]
    pub const fn two_six(patch: u16) -> Self {
        Self { major: 2, minor: 6, patch }
    }

    /// Parses a release as printed by `uname -r`, such as `6.1.0-18-amd64`; `None` if it does not
    /// begin with two numbers.
    #[must_use]
    pub fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        let major: u16 = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        let patch = numbers.next().and_then(|patch| patch.parse().ok()).unwrap_or(0);
        Some(if major < 3 { Self { major, minor, patch } } else { Self::new(major, minor) })
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.major < 3 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_output_of_uname() {
        for (release, version) in [
            ("6.1.0-18-amd64", KernelVersion::new(6, 1)),
            ("6.18.44-fc-v669", KernelVersion::new(6, 18)),
            ("5.19-rc3", KernelVersion::new(5, 19)),
            ("2.6.32-754.el6", KernelVersion::two_six(32)),
        ] {
            assert_eq!(KernelVersion::parse(release), Some(version), "{release}");
        }
        assert_eq!(KernelVersion::parse("unknown"), None);
    }
}
