//! Throughput limits of a disk: one file on v2, four on v1.

use super::{Translation, Untranslatable, Version};
use crate::knob::device;
use crate::knob::entry::Knob;

/// The file of v1 for each key of `io.max`.
const FILES: [(&str, &str); 4] = [
    ("rbps", "blkio.throttle.read_bps_device"),
    ("wbps", "blkio.throttle.write_bps_device"),
    ("riops", "blkio.throttle.read_iops_device"),
    ("wiops", "blkio.throttle.write_iops_device"),
];

/// Translates `DEVICE KEY=NUMBER|max ...`. On v1 writing 0 removes a limit.
pub(super) fn limits(knob: &Knob, value: &str) -> Result<Translation, Untranslatable> {
    let (device, rest) = device::split(value);
    let mut writes = rest.split_whitespace().filter_map(|pair| {
        let (key, number) = pair.split_once('=')?;
        let (_, file) = FILES.iter().find(|(name, _)| *name == key)?;
        let number = if number == "max" { "0" } else { number };
        Some((*file, format!("{device} {number}")))
    });
    let (file, written) = writes
        .next()
        .ok_or_else(|| Untranslatable::new(format!("`{value}` contains no limit"), "name a key"))?;
    let mut translation = Translation::new(Version::V1, knob, file, written);
    translation.also = writes.map(|(file, value)| (file.to_owned(), value)).collect();
    Ok(translation.note("v1 has one file per limit and does not limit buffered writes"))
}
