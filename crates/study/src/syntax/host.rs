//! Settings of the whole machine during a trial.

use super::Scalar;
use crate::template::Templated;

/// Settings of the whole machine during a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostSettings {
    /// Values by the names in `assay_knob::host_settings`, in the order of the file.
    pub values: Vec<(String, Templated<Scalar>)>,
    /// Which caches are dropped before each repeat, parsed by [`DropCaches::from_scalar`].
    pub drop_caches: Option<Templated<Scalar>>,
}

/// The value written to /proc/sys/vm/drop_caches before a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCaches {
    /// Nothing.
    No,
    /// 1 for the page cache, 2 for reclaimable slab objects, 3 for both.
    Write(u8),
}

impl DropCaches {
    /// Parses `drop_caches`: `true` is 3, `false` and 0 drop nothing. `None` for any other value.
    #[must_use]
    pub fn from_scalar(scalar: &Scalar) -> Option<Self> {
        match scalar.to_string().trim() {
            "false" | "0" => Some(Self::No),
            "true" | "3" => Some(Self::Write(3)),
            "1" => Some(Self::Write(1)),
            "2" => Some(Self::Write(2)),
            _ => None,
        }
    }
}
