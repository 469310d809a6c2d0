//! What makes a disk out of another one.

use assay_sys::kernel::Root;
use serde::{Deserialize, Serialize};

use crate::command;

/// Writing a name here makes an array without members (Linux 4.12 and later).
pub(super) const NEW_ARRAY: &str = "/sys/module/md_mod/parameters/new_array";

/// What makes a disk out of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The device mapper, by `dmsetup`.
    DeviceMapper,
    /// The driver of software RAID, by its files.
    Md,
}

impl Layer {
    /// Why this host cannot make such a disk, if it cannot.
    #[must_use]
    pub fn lacking(self, root: &Root) -> Option<String> {
        match self {
            Self::DeviceMapper if !root.exists("/dev/mapper/control") => {
                Some("no device mapper: `modprobe dm_mod` may help".to_owned())
            }
            Self::DeviceMapper => {
                command::require("dmsetup", "dmsetup").err().map(|e| e.to_string())
            }
            Self::Md => (!root.exists(NEW_ARRAY))
                .then(|| "no md arrays: `modprobe md_mod` may help".to_owned()),
        }
    }
}
