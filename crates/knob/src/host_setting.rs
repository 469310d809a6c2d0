//! Settings of the whole machine that a study may vary: sysctls and transparent huge pages.
//!
//! Only what stands in this table can be set. A name that the kernel knows and the table does not
//! is refused as well, although the file exists: some sysctls cannot be taken back
//! (`kernel.modules_disabled` stays 1 until the next boot), some act when they are written
//! (`vm.compact_memory`), and some can make the machine unusable (`vm.overcommit_memory`).

mod reference;
mod table;

use assay_diagnostic::closest;

use crate::kernel_version::KernelVersion;
use crate::range::ValueRange;

pub use reference::settings_reference;
pub use table::host_settings;

/// What else changes when a setting is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// Nothing.
    None,
    /// The kernel zeroes the setting of this name: of the two only one counts
    /// (`dirty_ratio_handler` and its like in mm/page-writeback.c).
    Zeroes(&'static str),
    /// The kernel computes the setting of this file anew (`set_recommended_min_free_kbytes` in
    /// mm/khugepaged.c).
    Recomputes(&'static str),
}

/// A setting of the whole machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSetting {
    /// Its name in a study: a sysctl with its dots, or `thp.` and the path below
    /// /sys/kernel/mm/transparent_hugepage.
    pub name: &'static str,
    /// The file, absolute as the host knows it.
    pub path: &'static str,
    /// The values it takes.
    pub range: ValueRange,
    /// What its number counts; empty for words and switches.
    pub unit: &'static str,
    /// The first kernel that has it.
    pub since: KernelVersion,
    /// The option that the kernel needs, if it is not always there.
    pub config: Option<&'static str>,
    /// What else changes when it is written.
    pub effect: SideEffect,
    /// One line about it.
    pub about: &'static str,
}

impl HostSetting {
    /// `value` as it is written for the kernel, or why it does not fit and what fits instead.
    pub fn normal(&self, value: &str) -> Result<String, String> {
        self.range
            .normal(value)
            .ok_or_else(|| format!("`{}` takes {}, not `{}`", self.name, self.range, value.trim()))
    }

    /// The setting that the kernel zeroes when this one is written.
    #[must_use]
    pub fn rival(&self) -> Option<&'static Self> {
        match self.effect {
            SideEffect::Zeroes(other) => host_setting(other),
            SideEffect::None | SideEffect::Recomputes(_) => None,
        }
    }

    /// Whether it is a sysctl, as against one of transparent huge pages.
    #[must_use]
    pub fn is_sysctl(&self) -> bool {
        !self.name.starts_with(THP)
    }

    /// Its name in the table of the study that it belongs to.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.name.strip_prefix(THP).unwrap_or(self.name)
    }
}

/// What names of settings of transparent huge pages begin with.
pub const THP: &str = "thp.";

/// The setting of that name.
#[must_use]
pub fn host_setting(name: &str) -> Option<&'static HostSetting> {
    host_settings().iter().find(|setting| setting.name == name)
}

/// The setting whose name is closest to `name`, if one is close. Slashes count as dots, as
/// sysctl(8) takes both.
#[must_use]
pub fn suggest_host_setting(name: &str) -> Option<&'static HostSetting> {
    let dotted = if name.starts_with(THP) { name.to_owned() } else { name.replace('/', ".") };
    let names = host_settings().iter().map(|setting| setting.name);
    host_setting(&dotted).or_else(|| closest(&dotted, names).and_then(host_setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rivals_name_each_other() {
        let rivals: Vec<&HostSetting> =
            host_settings().iter().filter(|setting| setting.rival().is_some()).collect();
        assert_eq!(rivals.len(), 4);
        for setting in rivals {
            let rival = setting.rival().unwrap();
            assert_eq!(rival.rival().map(|other| other.name), Some(setting.name));
        }
    }

    #[test]
    fn names_and_files_belong_together() {
        for setting in host_settings() {
            let place = match setting.is_sysctl() {
                true => format!("/proc/sys/{}", setting.name.replace('.', "/")),
                false => format!("/sys/kernel/mm/transparent_hugepage/{}", setting.key()),
            };
            assert_eq!(setting.path, place);
        }
    }

    #[test]
    fn values_are_checked_and_brought_into_the_kernel_s_form() {
        let normal = |name: &str, value: &str| host_setting(name).unwrap().normal(value).ok();
        assert_eq!(normal("vm.dirty_bytes", "16 MiB").as_deref(), Some("16777216"));
        assert_eq!(normal("vm.dirty_bytes", "0").as_deref(), Some("0"));
        assert_eq!(normal("vm.dirty_bytes", "1"), None, "less than two pages");
        assert_eq!(normal("vm.dirty_ratio", "101"), None);
        assert_eq!(normal("thp.enabled", "madvise").as_deref(), Some("madvise"));
        assert_eq!(normal("thp.enabled", "sometimes"), None);
    }

    #[test]
    fn a_slip_is_met_with_the_name_that_was_meant() {
        let meant = |name: &str| suggest_host_setting(name).map(|setting| setting.name);
        assert_eq!(meant("vm.dirty_rato"), Some("vm.dirty_ratio"));
        assert_eq!(meant("vm/dirty_ratio"), Some("vm.dirty_ratio"));
        assert_eq!(meant("kernel.modules_disabled"), None);
    }
}
