//! The number in what the kernel shows when a knob is read back.

use assay_units::IdSet;

use crate::bandwidth::cpu_bandwidth;
use crate::device::PLACEHOLDER;
use crate::range::ValueRange;
use crate::table::find;

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

/// Whether `shown`, read from the interface file `file`, says what `written` set: as numbers
/// where both are numbers, as lists where both are lists, line by line where a file has a line
/// for each disk or name, and else word by word.
#[must_use]
pub fn holds(file: &str, written: &str, shown: &str) -> bool {
    let (written, shown) = (written.trim(), shown.trim());
    if let (Some(one), Some(other)) = (numeric_reading(file, written), numeric_reading(file, shown))
    {
        return one == other;
    }
    match find(file).map(|knob| knob.range) {
        Some(ValueRange::DeviceKeys(_) | ValueRange::NamedKeys(_)) => {
            line_holds(written, shown, |key| format!("{key}=max"))
        }
        Some(ValueRange::DeviceNumber { .. }) => line_holds(written, shown, |_| "0".to_owned()),
        Some(ValueRange::Weights { .. }) if written.contains(':') => {
            line_holds(written, shown, |_| "default".to_owned())
        }
        Some(ValueRange::NamedNumber { .. }) => line_holds(written, shown, |_| "max".to_owned()),
        Some(ValueRange::BytesOrMinusOne | ValueRange::BytesOrMax)
            if ["-1", "max"].contains(&written) =>
        {
            // hugetlb.<size>.max of Linux 6.18 shows the number too.
            shown == written || shown.parse::<f64>().is_ok_and(|shown| shown >= UNLIMITED_FROM)
        }
        Some(ValueRange::IdList) => match (written.parse::<IdSet>(), shown.parse::<IdSet>()) {
            (Ok(one), Ok(other)) => one == other,
            _ => written == shown,
        },
        _ => written.split_whitespace().eq(shown.split_whitespace()),
    }
}

/// Whether the line of the disk or name in `written` has every word of it. A line that is not
/// there stands for what `unset` gives for each word. The placeholder of a disk fits every line.
fn line_holds(written: &str, shown: &str, unset: impl Fn(&str) -> String) -> bool {
    let Some((name, rest)) = written.split_once(char::is_whitespace) else { return false };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_it = |line: &str| name == PLACEHOLDER || line.split_whitespace().next() == Some(name);
    let mut lines = shown.lines().filter(|line| is_it(line)).peekable();
    if lines.peek().is_none() {
        let key = |word: &str| word.split('=').next().unwrap_or(word).to_owned();
        return words.iter().all(|word| **word == unset(&key(word)));
    }
    lines.any(|line| words.iter().all(|word| line.split_whitespace().any(|seen| same(word, seen))))
}

/// `min=1` and `min=1.00` are the same.
fn same(one: &str, other: &str) -> bool {
    let number = |word: &str| {
        let (key, value) = word.rsplit_once('=').unwrap_or(("", word));
        value.parse::<f64>().ok().map(|value| (key.to_owned(), value))
    };
    one == other || number(one).is_some_and(|found| Some(found) == number(other))
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

    #[test]
    fn a_limit_for_one_disk_is_looked_for_in_its_line() {
        let shown = "8:0 rbps=max wbps=5 riops=max wiops=max\n8:16 rbps=1048576 wbps=max riops=120 wiops=max\n";
        assert!(holds("io.max", "8:16 rbps=1048576 riops=120", shown));
        assert!(holds("io.max", "{device} rbps=1048576", shown));
        assert!(!holds("io.max", "8:0 rbps=1048576", shown));
        assert!(holds("io.max", "8:32 rbps=max", shown) && !holds("io.max", "8:32 rbps=1", shown));
        let v1 = "blkio.throttle.read_bps_device";
        assert!(holds(v1, "8:0 4096", "8:0 4096\n") && holds(v1, "8:0 0", ""));
        assert!(!holds(v1, "8:0 4096", "") && !holds(v1, "8:0 4096", "8:16 4096"));
        assert!(holds("io.weight", "8:0 200", "default 100\n8:0 200"));
        assert!(
            holds("io.weight", "8:0 default", "default 100")
                && holds("io.weight", "7", "default 7")
        );
    }

    #[test]
    fn no_limit_holds_in_the_spelling_of_v1_and_lists_hold_as_sets() {
        assert!(holds("memory.limit_in_bytes", "-1", "9223372036854771712"));
        assert!(!holds("memory.limit_in_bytes", "-1", "4096"));
        assert!(holds("cpuset.cpus", "0,1", "0-1\n") && !holds("cpuset.cpus", "0", "0-1"));
        assert!(holds("freezer.state", "FROZEN", "FROZEN\n"));
        assert!(!holds(
            "cpuset.cpus.partition",
            "root",
            "root invalid (Parent is not a partition root)"
        ));
        assert!(holds("cpu.uclamp.max", "max", "max") && holds("memory.max", "max", "max\n"));
    }
}
