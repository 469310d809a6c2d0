//! The layouts of control groups that a guest can boot into.

use std::fmt;
use std::str::FromStr;

/// How a guest mounts control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuestLayout {
    /// Every controller on v1 hierarchies as distributions had them: `cpu,cpuacct` and
    /// `net_cls,net_prio` together, the others each on its own, and one named `systemd`.
    V1,
    /// One cgroup2 hierarchy on /sys/fs/cgroup.
    #[default]
    V2,
    /// The v1 hierarchies of systemd's hybrid set-up, and cgroup2 on /sys/fs/cgroup/unified with
    /// the controllers that no v1 hierarchy holds.
    Hybrid,
}

impl GuestLayout {
    /// Its word on the command line.
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
            _ => Err("a layout is `v1`, `v2` or `hybrid`".to_owned()),
        }
    }
}
