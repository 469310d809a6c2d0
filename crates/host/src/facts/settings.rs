//! What the settings of the host say that a study may vary.

use std::collections::BTreeMap;

use assay_facts::Available;
use assay_kernel::Root;
use assay_knob::{HostSetting, host_settings};
use rustix::io::Errno;

/// Every setting of the table, as its file reads.
pub(super) fn settings(root: &Root) -> BTreeMap<String, Available<String>> {
    let read = |setting: &HostSetting| (setting.name.to_owned(), reading(root, setting));
    host_settings().iter().map(read).collect()
}

fn reading(root: &Root, setting: &HostSetting) -> Available<String> {
    match root.read_trimmed(setting.path) {
        Ok(text) => Available::Value(text),
        Err(error) if error.is(Errno::NOENT) => {
            let needs = setting.config.map(|config| format!(" and {config}")).unwrap_or_default();
            Available::NotAvailable(format!(
                "this kernel has no {} (it needs Linux {}{needs})",
                setting.path, setting.since
            ))
        }
        Err(error) => Available::NotAvailable(error.to_string()),
    }
}
