//! Counters of the whole machine: swapping and throttling because of heat.

use assay_facts::Available;
use assay_kernel::Root;
use assay_kernel::counters::{keyed, number};
use assay_units::CpuSet;

/// Pages swapped in and out since the boot.
pub(super) fn swapped_pages(root: &Root) -> Available<u64> {
    let text = match root.read("/proc/vmstat") {
        Ok(text) => text,
        Err(error) => return Available::NotAvailable(error.to_string()),
    };
    let count = |key| keyed(text.as_bytes(), key);
    match (count("pswpin"), count("pswpout")) {
        (Some(pages_in), Some(pages_out)) => Available::Value(pages_in + pages_out),
        _ => Available::NotAvailable("this kernel was built without swap".to_owned()),
    }
}

/// How often a core, or its package, was throttled because of heat since the boot.
pub(super) fn too_hot(root: &Root, cpus: &CpuSet) -> Available<u64> {
    let counts = cpus.iter().flat_map(|cpu| {
        ["core", "package"].map(|part| {
            let file = format!("{part}_throttle_count");
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{file}");
            number(root.read(path).ok()?.as_bytes())
        })
    });
    let known: Vec<u64> = counts.flatten().collect();
    match known.is_empty() {
        true => Available::NotAvailable(
            "this machine does not count throttling because of heat (no `thermal_throttle` of its CPUs)"
                .to_owned(),
        ),
        false => Available::Value(known.iter().sum()),
    }
}
