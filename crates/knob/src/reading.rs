//! The number in what the kernel shows when a knob is read back.

use crate::bandwidth::cpu_bandwidth;

/// v1 memory limits read as the largest whole number of pages when there is none.
const UNLIMITED_FROM: f64 = 9.2e18;

/// The number in `text` as read from the interface file `file`; `None` for `max`, for v1's
/// spellings of it, for lists of ids, and for what is no number.
///
/// A keyed weight (`default 100` and lines for single devices) gives its default. `cpu.max`
/// gives the CPUs granted, quota divided by period.
#[must_use]
pub fn numeric_reading(file: &str, text: &str) -> Option<f64> {
    if file.starts_with("cpuset.") {
        return None;
    }
    if file == "cpu.max" {
        let (quota, period) = cpu_bandwidth(text)?;
        return Some(quota? as f64 / period as f64);
    }
    let line = text.lines().find(|line| line.starts_with("default ")).or(text.lines().next())?;
    let number: f64 = line.trim_start_matches("default ").trim().parse().ok()?;
    (number.is_finite() && (0.0..UNLIMITED_FROM).contains(&number)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_plain_and_keyed_weights() {
        assert_eq!(numeric_reading("io.weight", "default 100\n8:0 200\n"), Some(100.0));
        assert_eq!(numeric_reading("blkio.bfq.weight", "800\n"), Some(800.0));
        assert_eq!(numeric_reading("cpu.shares", "1024"), Some(1024.0));
    }

    #[test]
    fn no_limit_is_no_number_in_any_spelling() {
        assert_eq!(numeric_reading("memory.max", "max\n"), None);
        assert_eq!(numeric_reading("cpu.cfs_quota_us", "-1\n"), None);
        assert_eq!(numeric_reading("memory.limit_in_bytes", "9223372036854771712\n"), None);
        assert_eq!(numeric_reading("cpu.max", "max 100000\n"), None);
    }

    #[test]
    fn cpu_bandwidth_reads_as_cpus() {
        assert_eq!(numeric_reading("cpu.max", "50000 100000\n"), Some(0.5));
    }

    #[test]
    fn lists_and_empty_files_are_no_numbers() {
        assert_eq!(numeric_reading("cpuset.cpus", "3\n"), None);
        assert_eq!(numeric_reading("io.weight", ""), None);
        assert_eq!(numeric_reading("io.weight", "nan"), None);
    }
}
