//! What makes a disk out of another one.

use assay_sys::kernel::Root;
use serde::{Deserialize, Serialize};

use crate::command;

/// Writing a name here makes an array without members (Linux 4.12 and later).
pub(super) const NEW_ARRAY: &str = "/sys/module/md_mod/parameters/new_array";

/// As long as this is set, an array that was made by [`NEW_ARRAY`] stays when it is cleared (`md_clean`, drivers/md/md.c; seen with
/// 7.2.13 and 7.3.4; 6.12 has no such setting). It is one setting for all arrays.
pub(super) const NEVER_REMOVED: &str = "/sys/module/md_mod/parameters/legacy_async_del_gendisk";

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
            Self::Md if !root.exists(NEW_ARRAY) => {
                Some("no md arrays: `modprobe md_mod` may help".to_owned())
            }
            Self::Md => (root.exists(NEVER_REMOVED) && has_arrays(root)).then(|| {
                "this host has md arrays, and this kernel removes one only with a setting for all of them".to_owned()
            }),
        }
    }
}

fn has_arrays(root: &Root) -> bool {
    root.list("/sys/block").is_ok_and(|disks| disks.iter().any(|disk| disk.starts_with("md")))
}
