//! Quotas of the groups above the command's own, such as that of the container or the CI job that it runs in.

use std::collections::BTreeMap;
use std::path::Path;

use assay_facts::Available;
use assay_kernel::Root;
use assay_kernel::counters::keyed;

/// For how many seconds each group above this directory was throttled so far.
pub(super) fn read(root: &Root, directory: Option<&Path>) -> Available<BTreeMap<String, f64>> {
    let Some(directory) = directory else {
        let why = "the command is in no group of the controller `cpu`".to_owned();
        return Available::NotAvailable(why);
    };
    let above = directory.ancestors().skip(1);
    let throttled = above.map_while(|group| {
        let text = root.read(group.join("cpu.stat")).ok()?;
        let text = text.as_bytes();
        let on_v2 = keyed(text, "throttled_usec").map(|time| time as f64 * 1e-6);
        let time = on_v2.or_else(|| Some(keyed(text, "throttled_time")? as f64 * 1e-9));
        Some((group.display().to_string(), time.unwrap_or(0.0)))
    });
    Available::Value(throttled.collect())
}

/// What each of them was throttled between two readings.
pub(super) fn since(
    before: &BTreeMap<String, f64>,
    after: &BTreeMap<String, f64>,
) -> Vec<(String, f64)> {
    let grown = |(group, time): (&String, &f64)| {
        let earlier = before.get(group).copied().unwrap_or(0.0);
        (group.clone(), (time - earlier).max(0.0))
    };
    after.iter().map(grown).filter(|(_, held)| *held > 0.0).collect()
}
