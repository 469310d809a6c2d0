//! Device rules: on v1 each write to the file is one rule; on v2 a program decides.

use super::{DeviceDecision, Translation, Untranslatable, Version};
use crate::knob::device_rule::DeviceRule;
use crate::knob::entry::Knob;

pub(super) fn rules(
    knob: &Knob,
    value: &str,
    version: Version,
) -> Result<Translation, Untranslatable> {
    let rules = DeviceRule::parse_all(value).unwrap_or_default();
    let mut texts = rules.iter().map(ToString::to_string);
    let first = texts.next().ok_or_else(|| {
        Untranslatable::new(format!("`{value}` is not a device rule"), "write `c 1:3 rwm`")
    })?;
    if version == Version::V2 {
        let allow = knob.name == "devices.allow";
        let mut translation = Translation::new(version, knob, knob.name, value);
        translation.device_rules =
            rules.into_iter().map(|rule| DeviceDecision { allow, rule }).collect();
        return Ok(translation.note("v2 has no file: an eBPF device program on the group decides"));
    }
    let mut translation = Translation::new(version, knob, knob.name, first);
    translation.also = texts.map(|rule| (knob.name.to_owned(), rule)).collect();
    Ok(translation.note("the kernel does not show denied devices, so they cannot be read back"))
}
