//! Amounts of memory, which the kernel rounds to whole pages.

use super::{Translation, Version};
use crate::knob::entry::{Knob, Unit};

/// The smallest page size of the supported architectures. Larger pages round further down, which
/// reading the knob back shows.
const SMALLEST_PAGE: u64 = 4_096;

/// Translates a number of bytes, `max`, or v1's `-1`.
pub(super) fn amount(knob: &Knob, file: &str, value: &str, version: Version) -> Translation {
    let written = if value == "max" && version == Version::V1 { "-1" } else { value };
    let translation = Translation::new(version, knob, file, written);
    match value.parse::<u64>() {
        Ok(bytes) if knob.unit == Unit::Bytes && !bytes.is_multiple_of(SMALLEST_PAGE) => {
            translation.note(format!("the kernel rounds {bytes} down to whole pages"))
        }
        _ => translation,
    }
}
