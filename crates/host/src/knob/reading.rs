//! Parses what the kernel shows when a knob is read back.

use assay_sys::units::IdSet;

use crate::knob::bandwidth::cpu_bandwidth;
use crate::knob::device::PLACEHOLDER;
use crate::knob::range::ValueRange;
use crate::knob::table::find;

/// v1 memory limits read as the largest whole number of pages if there is no limit.
const UNLIMITED_FROM: f64 = 9.2e18;

/// A limit: a number, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// A number in the file's unit.
    At(u64),
    /// `max`, or v1's spelling of it.
    None,
}

impl Limit {
    /// The number, if there is one.
    #[must_use]
    pub const fn amount(self) -> Option<u64> {
        match self {
            Self::At(number) => Some(number),
            Self::None => None,
        }
    }
}

/// Parses a single limit: `max`, a number, or v1's -1 and largest number of whole pages.
#[must_use]
pub fn limit(text: &str) -> Option<Limit> {
    match text.trim() {
        "max" | "-1" => Some(Limit::None),
        number => number.parse().ok().map(|number: u64| match number as f64 >= UNLIMITED_FROM {
            true => Limit::None,
            false => Limit::At(number),
        }),
    }
}

/// The text of a weight, or of the default of weights: `100` of the line `default 100`.
fn default_line(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with("default ")).or(text.lines().next())?;
    Some(line.trim_start_matches("default ").trim())
}

/// The default of a weight file: `100`, or the line `default 100`.
#[must_use]
pub fn weight(text: &str) -> Option<u64> {
    default_line(text)?.parse().ok()
}

/// The weight of a device: that of its own line, or the default of the file.
#[must_use]
pub fn weight_on(text: &str, device: &str) -> Option<u64> {
    let own = device_lines(text).find(|(one, _)| *one == device);
    own.map_or_else(|| weight(text), |(_, weight)| weight.parse().ok())
}

/// The lines of a keyed file that begin with a device, with the device.
pub fn device_lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.lines().filter_map(move |line| {
        let (device, rest) = line.split_once(char::is_whitespace)?;
        let (major, minor) = device.split_once(':')?;
        (is_number(major) && is_number(minor)).then_some((device, rest.trim()))
    })
}

/// The value of `key=value` among the words of a line.
#[must_use]
pub fn field<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// Quota and period that `cpu.max` shows, in microseconds; without a quota the group has no limit.
#[must_use]
pub fn bandwidth(text: &str) -> Option<(Option<u64>, u64)> {
    let mut words = text.split_whitespace();
    let quota = words.next()?;
    let period = words.next().map_or(Some(100_000), |word| word.parse().ok())?;
    let quota = if quota == "max" { None } else { Some(quota.parse().ok()?) };
    (period > 0).then_some((quota, period))
}

/// Parses the number in `text`, read from the interface file `file`; `None` for `max`, for v1's
/// spellings of it, for lists of ids, and for anything else that is not a number.
///
/// For a keyed weight (`default 100` and lines for single devices) it is the default. For `cpu.max`
/// it is the number of CPUs granted, quota divided by period.
#[must_use]
pub fn numeric_reading(file: &str, text: &str) -> Option<f64> {
    if file.starts_with("cpuset.") {
        return None;
    }
    if file == "cpu.max" {
        let (quota, period) = cpu_bandwidth(text)?;
        return Some(quota? as f64 / period as f64);
    }
    let number: f64 = default_line(text)?.parse().ok()?;
    (number.is_finite() && (0.0..UNLIMITED_FROM).contains(&number)).then_some(number)
}

/// Whether an interface file says what it does in a new group; `None` if the table of files has no such file, or what it reads there depends
/// on the host.
#[must_use]
pub fn is_of_new_group(file: &str, text: &str) -> Option<bool> {
    let knob = find(file)?;
    match (knob.default(), knob.range) {
        (Some(default), _) => Some(matches_default(file, default, text.trim())),
        // The text for no limit differs from kernel to kernel.
        (None, ValueRange::BytesOrMax | ValueRange::BytesOrMinusOne) => Some(is_unlimited(text)),
        (None, ValueRange::NamedKeys(_) | ValueRange::NamedNumber { .. }) => {
            let none = if file.ends_with(".max") { "max" } else { "0" };
            let mut values = text.lines().flat_map(|line| line.split_whitespace().skip(1));
            Some(values.all(|word| word.rsplit('=').next() == Some(none)))
        }
        _ => None,
    }
}

/// Whether `value` is `default`, in any spelling of the kernel: no limit reads as `max`, -1 or a huge number.
#[must_use]
pub fn matches_default(file: &str, default: &str, value: &str) -> bool {
    if default == value {
        return true;
    }
    let is_equal = match (numeric_reading(file, default), numeric_reading(file, value)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => is_unlimited(default) && is_unlimited(value),
        _ => false,
    };
    is_equal && value.lines().count() == 1
}

fn is_unlimited(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_huge = || first.parse().is_ok_and(|number: f64| number >= UNLIMITED_FROM);
    ["max", "-1"].contains(&first) || is_huge()
}

/// Whether `shown`, read from the interface file `file`, matches `written`: compared as numbers if
/// both are numbers, as lists if both are lists, by line if the file has one line per disk or name,
/// and otherwise word by word.
#[must_use]
pub fn matches_written(file: &str, written: &str, shown: &str) -> bool {
    let (written, shown) = (written.trim(), shown.trim());
    if let (Some(one), Some(other)) = (numeric_reading(file, written), numeric_reading(file, shown))
    {
        return one == other;
    }
    match find(file).map(|knob| knob.range) {
        Some(ValueRange::DeviceKeys(_) | ValueRange::NamedKeys(_)) => {
            line_matches(written, shown, |key| format!("{key}=max"))
        }
        Some(ValueRange::DeviceNumber { .. }) => line_matches(written, shown, |_| "0".to_owned()),
        Some(ValueRange::Weights { .. }) if written.contains(':') => {
            line_matches(written, shown, |_| "default".to_owned())
        }
        Some(ValueRange::NamedNumber { .. }) => line_matches(written, shown, |_| "max".to_owned()),
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

/// Whether the line of the disk or name in `written` contains every word of it. A missing line
/// stands for the result of `unset` for each word. The placeholder for a disk matches every line.
fn line_matches(written: &str, shown: &str, unset: impl Fn(&str) -> String) -> bool {
    let Some((name, rest)) = written.split_once(char::is_whitespace) else { return false };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let has_name = |line: &str| name == PLACEHOLDER || line.split_whitespace().next() == Some(name);
    let mut lines = shown.lines().filter(|line| has_name(line)).peekable();
    if lines.peek().is_none() {
        let key = |word: &str| word.split('=').next().unwrap_or(word).to_owned();
        return words.iter().all(|word| **word == unset(&key(word)));
    }
    lines.any(|line| {
        words.iter().all(|word| line.split_whitespace().any(|shown_word| same(word, shown_word)))
    })
}

/// Compares two words; `min=1` and `min=1.00` are the same.
fn same(one: &str, other: &str) -> bool {
    let number = |word: &str| {
        let (key, value) = word.rsplit_once('=').unwrap_or(("", word));
        value.parse::<f64>().ok().map(|value| (key.to_owned(), value))
    };
    one == other || number(one).is_some_and(|value| Some(value) == number(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_keyed_weights_are_parsed() {
        assert_eq!(numeric_reading("io.weight", "default 100\n8:0 200\n"), Some(100.0));
        assert_eq!(numeric_reading("blkio.bfq.weight", "800\n"), Some(800.0));
        let on = |text| ["8:0", "8:16"].map(|disk| weight_on(text, disk));
        assert_eq!(on("default 100\n8:0 200\n"), [Some(200), Some(100)]);
        assert_eq!(on("8:0 200\n"), [Some(200), None], "blkio.bfq.weight_device");
        assert_eq!(numeric_reading("cpu.shares", "1024"), Some(1024.0));
    }

    #[test]
    fn no_limit_is_not_a_number_in_any_spelling() {
        assert_eq!(numeric_reading("memory.max", "max\n"), None);
        assert_eq!(numeric_reading("cpu.cfs_quota_us", "-1\n"), None);
        assert_eq!(numeric_reading("memory.limit_in_bytes", "9223372036854771712\n"), None);
        assert_eq!(numeric_reading("cpu.max", "max 100000\n"), None);
    }

    #[test]
    fn a_file_says_what_it_does_in_a_new_group_by_its_own_default() {
        for (file, new, set) in [
            ("cpu.weight", "100\n", "1024"),
            ("cpu.shares", "1024", "100"),
            ("cpu.max", "max 50000", "50000 100000"),
            ("cpu.cfs_quota_us", "-1", "100"),
            ("cpu.uclamp.min", "0.00", "10.00"),
            ("memory.limit_in_bytes", "9223372036854771712", "67108864"),
            ("memory.low", "0", "max"),
            ("pids.max", "max", "3"),
            ("io.weight", "default 100\n", "default 100\n8:0 200"),
            ("io.max", "", "8:0 rbps=1 wbps=max riops=max wiops=max"),
            ("hugetlb.2MB.max", "9223372036852678656", "4194304"),
            ("hugetlb.1GB.rsvd.max", "max", "0"),
            ("misc.max", "sev max\nsev_es max", "sev 5\nsev_es max"),
            (
                "rdma.max",
                "mlx4_0 hca_handle=max hca_object=max",
                "mlx4_0 hca_handle=2 hca_object=max",
            ),
            ("dmem.low", "drm/vram0 0", "drm/vram0 4096"),
        ] {
            assert_eq!(is_of_new_group(file, new), Some(true), "{file} {new}");
            assert_eq!(is_of_new_group(file, set), Some(false), "{file} {set}");
        }
        assert_eq!(
            (is_of_new_group("cpu.stat", "0"), is_of_new_group("no.file", "")),
            (None, None)
        );
        assert!(matches_default("io.weight", "100", "default 100"));
    }

    #[test]
    fn cpu_bandwidth_is_a_number_of_cpus() {
        assert_eq!(numeric_reading("cpu.max", "50000 100000\n"), Some(0.5));
    }

    #[test]
    fn lists_and_empty_files_are_not_numbers() {
        assert_eq!(numeric_reading("cpuset.cpus", "3\n"), None);
        assert_eq!(numeric_reading("io.weight", ""), None);
        assert_eq!(numeric_reading("io.weight", "nan"), None);
    }

    #[test]
    fn a_limit_for_one_disk_is_compared_with_its_line() {
        let shown = "8:0 rbps=max wbps=5 riops=max wiops=max\n8:16 rbps=1048576 wbps=max riops=120 wiops=max\n";
        assert!(matches_written("io.max", "8:16 rbps=1048576 riops=120", shown));
        assert!(matches_written("io.max", "{device} rbps=1048576", shown));
        assert!(!matches_written("io.max", "8:0 rbps=1048576", shown));
        assert!(
            matches_written("io.max", "8:32 rbps=max", shown)
                && !matches_written("io.max", "8:32 rbps=1", shown)
        );
        let v1 = "blkio.throttle.read_bps_device";
        assert!(matches_written(v1, "8:0 4096", "8:0 4096\n") && matches_written(v1, "8:0 0", ""));
        assert!(
            !matches_written(v1, "8:0 4096", "") && !matches_written(v1, "8:0 4096", "8:16 4096")
        );
        assert!(matches_written("io.weight", "8:0 200", "default 100\n8:0 200"));
        assert!(
            matches_written("io.weight", "8:0 default", "default 100")
                && matches_written("io.weight", "7", "default 7")
        );
    }

    #[test]
    fn no_limit_matches_the_spelling_of_v1_and_lists_match_as_sets() {
        assert!(matches_written("memory.limit_in_bytes", "-1", "9223372036854771712"));
        assert!(!matches_written("memory.limit_in_bytes", "-1", "4096"));
        assert!(
            matches_written("cpuset.cpus", "0,1", "0-1\n")
                && !matches_written("cpuset.cpus", "0", "0-1")
        );
        assert!(matches_written("freezer.state", "FROZEN", "FROZEN\n"));
        assert!(!matches_written(
            "cpuset.cpus.partition",
            "root",
            "root invalid (Parent is not a partition root)"
        ));
        assert!(
            matches_written("cpu.uclamp.max", "max", "max")
                && matches_written("memory.max", "max", "max\n")
        );
    }

    #[test]
    fn limits_are_parsed_in_both_spellings() {
        assert_eq!(limit("max\n"), Some(Limit::None));
        assert_eq!(limit("9223372036854771712"), Some(Limit::None));
        assert_eq!(limit("-1"), Some(Limit::None));
        assert_eq!(limit("4096"), Some(Limit::At(4096)));
        assert_eq!(limit(""), None);
    }

    #[test]
    fn weights_and_devices_are_parsed() {
        let text = "default 200\n8:0 300\n";
        assert_eq!((weight(text), weight("100\n"), weight("")), (Some(200), Some(100), None));
        assert_eq!(device_lines(text).collect::<Vec<_>>(), [("8:0", "300")]);
        assert_eq!(field("rbps=max wbps=5", "wbps"), Some("5"));
    }

    #[test]
    fn a_bandwidth_without_a_period_has_the_usual_one() {
        assert_eq!(bandwidth("max 100000"), Some((None, 100_000)));
        assert_eq!(bandwidth("50000"), Some((Some(50_000), 100_000)));
        assert_eq!(bandwidth("5 0"), None);
    }
}
