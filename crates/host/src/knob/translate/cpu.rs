//! CPU weights and bandwidth.

use super::{Translation, Untranslatable, Version};
use crate::knob::bandwidth::cpu_bandwidth;
use crate::knob::entry::Knob;

/// Default weight on v2; v1's default of 1024 shares has the same meaning.
const DEFAULT_WEIGHT: u64 = 100;

/// Default shares on v1.
const DEFAULT_SHARES: u64 = 1_024;

/// Converts a weight with the kernel's own factor (sched_weight_from_cgroup, kernel/sched/core.c),
/// which keeps ratios between groups, unlike the linear mapping of container runtimes.
pub(super) fn weight(knob: &Knob, value: &str, version: Version) -> Translation {
    let (Version::V1, Ok(weight)) = (version, value.parse::<u64>()) else {
        return Translation::new(version, knob, knob.name, value);
    };
    let scaled = weight * DEFAULT_SHARES;
    let shares = (scaled + DEFAULT_WEIGHT / 2) / DEFAULT_WEIGHT;
    let note = if scaled.is_multiple_of(DEFAULT_WEIGHT) {
        format!("weight {weight} is {shares} shares")
    } else {
        let exact = scaled as f64 / DEFAULT_WEIGHT as f64;
        let error = (shares as f64 / exact - 1.0) * 100.0;
        format!("weight {weight} would be {exact} shares, rounded to {shares} ({error:+.2} %)")
    };
    Translation::new(version, knob, "cpu.shares", shares.to_string()).note(note)
}

/// The weight of each nice value from -20 to 19 (kernel/sched/core.c: sched_prio_to_weight). The
/// kernel stores exactly these as shares when `cpu.weight.nice` is written.
const WEIGHT_OF_NICE: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// Converts a nice value with the kernel's table.
pub(super) fn nice(knob: &Knob, value: &str, version: Version) -> Translation {
    let index = value.parse::<i64>().ok().and_then(|nice| usize::try_from(nice + 20).ok());
    match index.and_then(|index| WEIGHT_OF_NICE.get(index)) {
        Some(shares) if version == Version::V1 => {
            Translation::new(version, knob, "cpu.shares", shares.to_string())
                .note(format!("nice {value} is {shares} shares"))
        }
        _ => Translation::new(version, knob, knob.name, value),
    }
}

/// Splits the limit into v1's two files. The quota is written first: a new group has the default
/// period, under which any quota is accepted.
pub(super) fn max(
    knob: &Knob,
    value: &str,
    version: Version,
) -> Result<Translation, Untranslatable> {
    if version == Version::V2 {
        return Ok(Translation::new(version, knob, knob.name, value));
    }
    let (quota, period) = cpu_bandwidth(value).ok_or_else(|| {
        Untranslatable::new(format!("`{value}` is not a CPU bandwidth"), "write `QUOTA PERIOD`")
    })?;
    let quota = quota.map_or_else(|| "-1".to_owned(), |quota| quota.to_string());
    let mut translation = Translation::new(version, knob, "cpu.cfs_quota_us", quota);
    translation.also.push(("cpu.cfs_period_us".to_owned(), period.to_string()));
    Ok(translation.note("v1 has quota and period in two files"))
}
