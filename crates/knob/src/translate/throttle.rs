//! Limits on the throughput of a disk: one file on v2, four on v1.

use super::{Translation, Untranslatable, Version};
use crate::device;
use crate::knob::Knob;

/// Which file of v1 holds which key of `io.max`.
const FILES: [(&str, &str); 4] = [
    ("rbps", "blkio.throttle.read_bps_device"),
    ("wbps", "blkio.throttle.write_bps_device"),
    ("riops", "blkio.throttle.read_iops_device"),
    ("wiops", "blkio.throttle.write_iops_device"),
];

/// `value` is `DEVICE KEY=NUMBER|max ...`. v1 takes a limit back when 0 is written.
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
        .ok_or_else(|| Untranslatable::new(format!("`{value}` limits nothing"), "name a key"))?;
    let mut translation = Translation::new(Version::V1, knob, file, written);
    translation.also = writes.map(|(file, value)| (file.to_owned(), value)).collect();
    Ok(translation.note("v1 has a file for each limit, and lets buffered writes pass unlimited"))
}
