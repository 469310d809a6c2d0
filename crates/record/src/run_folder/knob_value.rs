//! Compares written values with what the kernel shows.

use assay_host::facts::Available;
use assay_host::knob::numeric_reading;

use crate::run_folder::{Reading, RepeatRecord};

/// Whether a queue attribute has the requested value: `0` and `0`, but also `none` within `[none]
/// mq-deadline`, as some attributes show all choices.
pub fn attribute_holds(asked: &str, shown: &str) -> bool {
    let (asked, shown) = (asked.trim(), shown.trim());
    let numbers = (asked.parse::<f64>(), shown.parse::<f64>());
    asked == shown
        || matches!(numbers, (Ok(asked), Ok(shown)) if asked == shown)
        || shown.split_whitespace().any(|word| word == format!("[{asked}]"))
}

/// The reading of one knob of one group.
pub fn find<'r>(record: &'r RepeatRecord, group: &str, knob: &str) -> Option<&'r Reading> {
    record.knobs.iter().find(|reading| reading.group == group && reading.knob == knob)
}

/// The number that a knob held at the start of a repeat, or why there is none.
pub fn number(record: &RepeatRecord, group: &str, knob: &str) -> Result<f64, String> {
    let reading = find(record, group, knob)
        .ok_or_else(|| format!("`{knob}` of `{group}` was not read back"))?;
    match &reading.at_start {
        Available::NotAvailable(why) => {
            Err(format!("`{}` of `{group}` is not available: {why}", reading.file))
        }
        Available::Value(text) if reading.file == "cpu.cfs_quota_us" => v1_quota(reading, text),
        Available::Value(text) if is_weight_in_shares(reading) => {
            numeric_reading(&reading.file, text)
                .map(|shares| shares * WEIGHT_OF_SHARE)
                .ok_or_else(|| format!("`cpu.shares` of `{group}` reads `{}`", text.trim()))
        }
        Available::Value(text) => numeric_reading(&reading.file, text).ok_or_else(|| {
            format!(
                "`{}` of `{group}` reads `{}`, which is not a number",
                reading.file,
                text.trim()
            )
        }),
    }
}

/// v1's default of 1024 shares is v2's default weight of 100 (sched_weight_from_cgroup,
/// kernel/sched/core.c).
const WEIGHT_OF_SHARE: f64 = 100.0 / 1024.0;

/// Whether the study's weight is stored as shares on this host: it is converted back to the weight
/// written, where shares hold it exactly.
fn is_weight_in_shares(reading: &Reading) -> bool {
    reading.knob == "cpu.weight" && reading.file == "cpu.shares"
}

/// CPUs granted by a v1 quota: the quota divided by the period, which has its own file.
fn v1_quota(reading: &Reading, quota: &str) -> Result<f64, String> {
    let group = &reading.group;
    let period = match reading.also.get("cpu.cfs_period_us") {
        Some(Available::Value(text)) => text.trim().parse::<f64>().ok(),
        Some(Available::NotAvailable(_)) | None => None,
    };
    let period = period
        .filter(|period| *period > 0.0)
        .ok_or_else(|| format!("`cpu.cfs_period_us` of `{group}` was not read back"))?;
    numeric_reading(&reading.file, quota)
        .map(|quota| quota / period)
        .ok_or_else(|| format!("`{}` of `{group}` sets no limit", reading.file))
}

#[cfg(test)]
mod tests {
    use assay_host::knob::matches_written as same;

    use super::*;

    #[test]
    fn compares_numbers_as_numbers_and_the_rest_word_by_word() {
        assert!(same("io.weight", "100", "default 100\n"));
        assert!(!same("io.weight", "100", "default 200\n"));
        assert!(same("memory.max", "max", "max\n"));
        assert!(!same("memory.max", "max", "4096\n"));
    }

    #[test]
    fn an_attribute_that_shows_all_choices_holds_the_one_in_brackets() {
        assert!(attribute_holds("0", "0\n") && attribute_holds("8", " 8"));
        assert!(attribute_holds("none", "[none] mq-deadline"));
        assert!(!attribute_holds("none", "none [mq-deadline]"));
        assert!(!attribute_holds("0", "1"));
    }
}
