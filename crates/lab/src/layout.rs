//! Control group layouts of guests.

use std::fmt;
use std::str::FromStr;

/// How a guest mounts control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuestLayout {
    /// Every controller on v1 hierarchies as in distributions: `cpu,cpuacct` and `net_cls,net_prio`
    /// together, the others separately, and one named `systemd`.
    V1,
    /// One cgroup2 hierarchy on /sys/fs/cgroup.
    #[default]
    V2,
    /// The v1 hierarchies of systemd's hybrid setup, and cgroup2 on /sys/fs/cgroup/unified with the
    /// controllers that no v1 hierarchy has.
    Hybrid,
}

impl GuestLayout {
    /// Its name on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Hybrid => "hybrid",
        }
    }
}

impl fmt::Display for GuestLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for GuestLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "v1" => Ok(Self::V1),
            "v2" => Ok(Self::V2),
            "hybrid" => Ok(Self::Hybrid),
            _ => Err("unknown layout; use `v1`, `v2` or `hybrid`".to_owned()),
        }
    }
}
