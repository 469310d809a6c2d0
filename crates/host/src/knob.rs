//! Knobs: interface files of control groups, their ranges, and their translation for the hierarchy
//! and the scheduler of a host.
//!
//! A study names a knob by its cgroup v2 name, or by its v1 name if v2 has no counterpart. This
//! crate translates it into the file and the text to write; it opens no file itself.

mod amount;
mod bandwidth;
mod cpu_weight;
mod device;
mod device_rule;
mod entry;
mod file;
mod host_setting;
mod kernel_version;
mod named;
mod range;
mod reading;
mod table;
mod translate;

pub use cpu_weight::{Contender, THREAD_WEIGHT, Threads, WEIGHT_MODE_FILE, WeightMode};
pub use device::{Key, KeyKind, PLACEHOLDER};
pub use device_rule::{DeviceKind, DeviceRule};
pub use entry::{Counterpart, Knob, Role, SupportedVersions, Unit};
pub use file::{File, GroupScope, Mode};
pub use host_setting::{
    HostSetting, SideEffect, THP, WEIGHT_MODE, host_setting, host_settings, suggest_host_setting,
};
pub use kernel_version::KernelVersion;
pub use range::ValueRange;
pub use reading::{
    Limit, bandwidth, device_lines, field, is_of_new_group, limit, matches_default,
    matches_written, numeric_reading, weight, weight_on,
};
pub use table::{WEIGHT_AS_NICE, all, find, setting_files, settings, suggest};
pub use translate::{
    CORE, DeviceDecision, DiskQueue, RootSetting, Translation, Untranslatable, Version, translate,
};
