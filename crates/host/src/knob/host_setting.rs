//! Settings of the whole machine that a study may vary: sysctls and transparent huge pages.
//!
//! Only the settings in this table can be set. Others are refused even if the kernel has them: some
//! sysctls cannot be restored (`kernel.modules_disabled` stays 1 until the next boot), some act
//! when they are written (`vm.compact_memory`), and some can make the machine unusable
//! (`vm.overcommit_memory`).

mod table;

use assay_sys::closest;

use crate::knob::kernel_version::KernelVersion;
use crate::knob::range::ValueRange;

pub use table::host_settings;

/// A side effect of writing a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// Nothing.
    None,
    /// The kernel zeroes the setting of this name: only one of the two is in effect
    /// (`dirty_ratio_handler` and similar handlers in mm/page-writeback.c).
    Zeroes(&'static str),
    /// The kernel recomputes the setting in this file (`set_recommended_min_free_kbytes` in
    /// mm/khugepaged.c).
    Recomputes(&'static str),
}

/// A setting of the whole machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSetting {
    /// Its name in a study: a sysctl with its dots, `sched.cgroup_mode` in debugfs, or `thp.` and the path below
    /// /sys/kernel/mm/transparent_hugepage.
    pub name: &'static str,
    /// The values it accepts.
    pub range: ValueRange,
    /// The first kernel that has it.
    pub since: KernelVersion,
    /// The configuration option that it needs, if any.
    pub config: Option<&'static str>,
    /// The side effect of writing it.
    pub effect: SideEffect,
    /// A one-line description.
    pub about: &'static str,
}

impl HostSetting {
    /// Normalizes `value` for the kernel, or returns why it is invalid and what is valid.
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

    /// Whether it is a sysctl, rather than a setting of transparent huge pages.
    #[must_use]
    pub fn is_sysctl(&self) -> bool {
        !self.name.starts_with(THP)
    }

    /// The absolute path of its file.
    #[must_use]
    pub fn path(&self) -> String {
        match self.name.strip_prefix(THP) {
            Some(below) => format!("/sys/kernel/mm/transparent_hugepage/{below}"),
            None if self.name == WEIGHT_MODE => crate::knob::WEIGHT_MODE_FILE.to_owned(),
            None => format!("/proc/sys/{}", self.name.replace('.', "/")),
        }
    }

    /// Its key in the `sysctls` or `thp` table of a study.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.name.strip_prefix(THP).unwrap_or(self.name)
    }
}

/// The law by which weights of CPU divide, which stands with the sysctls as the scheduler's did before Linux 5.13.
pub const WEIGHT_MODE: &str = "sched.cgroup_mode";

/// Prefix of the names of transparent huge page settings.
pub const THP: &str = "thp.";

/// Finds a setting by name.
#[must_use]
pub fn host_setting(name: &str) -> Option<&'static HostSetting> {
    host_settings().iter().find(|setting| setting.name == name)
}

/// The setting whose name is closest to `name`, if one is close. Slashes count as dots, because
/// sysctl(8) accepts both.
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
    fn rivals_are_mutual() {
        let rivals: Vec<&HostSetting> =
            host_settings().iter().filter(|setting| setting.rival().is_some()).collect();
        assert_eq!(rivals.len(), 4);
        for setting in rivals {
            let rival = setting.rival().unwrap();
            assert_eq!(rival.rival().map(|other| other.name), Some(setting.name));
        }
    }

    #[test]
    fn names_and_paths_agree() {
        let path = |name: &str| host_setting(name).unwrap().path();
        assert_eq!(path("vm.page-cluster"), "/proc/sys/vm/page-cluster");
        assert_eq!(
            path("thp.khugepaged/defrag"),
            "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag"
        );
    }

    #[test]
    fn values_are_checked_and_normalized() {
        let normal = |name: &str, value: &str| host_setting(name).unwrap().normal(value).ok();
        assert_eq!(normal("vm.dirty_bytes", "16 MiB").as_deref(), Some("16777216"));
        assert_eq!(normal("vm.dirty_bytes", "0").as_deref(), Some("0"));
        assert_eq!(normal("vm.dirty_bytes", "1"), None, "less than two pages");
        assert_eq!(normal("vm.dirty_ratio", "101"), None);
        assert_eq!(normal("thp.enabled", "madvise").as_deref(), Some("madvise"));
        assert_eq!(normal("thp.enabled", "sometimes"), None);
    }

    #[test]
    fn a_misspelt_name_is_recognized() {
        let meant = |name: &str| suggest_host_setting(name).map(|setting| setting.name);
        assert_eq!(meant("vm.dirty_rato"), Some("vm.dirty_ratio"));
        assert_eq!(meant("vm/dirty_ratio"), Some("vm.dirty_ratio"));
        assert_eq!(meant("kernel.modules_disabled"), None);
    }
}
