//! Present values of the host settings that a study may vary, and of CPU frequency settings.

use std::collections::BTreeMap;

use crate::facts::Available;
use crate::knob::{HostSetting, host_settings};
use assay_sys::kernel::Root;
use rustix::io::Errno;

/// Frequency settings (Documentation/admin-guide/pm/cpufreq.rst). No study varies them, but runs at
/// different CPU frequencies differ.
const FREQUENCY: [&str; 4] = [
    "cpu0/cpufreq/scaling_driver",
    "cpu0/cpufreq/scaling_governor",
    "cpufreq/boost",
    "intel_pstate/no_turbo",
];

/// Every setting of the table with its present value, and the CPU frequency settings.
pub(super) fn settings(root: &Root) -> BTreeMap<String, Available<String>> {
    let read = |setting: &HostSetting| (setting.name.to_owned(), reading(root, setting));
    let frequency = |name: &&str| {
        let read = root.read_trimmed(format!("/sys/devices/system/cpu/{name}"));
        ((*name).to_owned(), Available::from(read))
    };
    host_settings().iter().map(read).chain(FREQUENCY.iter().map(frequency)).collect()
}

fn reading(root: &Root, setting: &HostSetting) -> Available<String> {
    match root.read_trimmed(setting.path()) {
        Err(error) if error.is(Errno::NOENT) => {
            let needs = setting.config.map(|config| format!(" and {config}")).unwrap_or_default();
            Available::NotAvailable(format!(
                "this kernel has no {} (it needs Linux {}{needs})",
                setting.path(),
                setting.since
            ))
        }
        read => read.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_frequency_settings_are_facts_where_they_exist() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("sys/devices/system/cpu/cpu0/cpufreq");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("scaling_governor"), "powersave\n").unwrap();
        let facts = settings(&Root::at(tree.path()));
        let governor = &facts["cpu0/cpufreq/scaling_governor"];
        assert_eq!(governor.value().map(String::as_str), Some("powersave"));
        assert!(facts["cpufreq/boost"].value().is_none());
    }
}
