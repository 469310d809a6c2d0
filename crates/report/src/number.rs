//! Number formatting: one unit and one number of decimals per column, so that decimal points align.

use assay_judge::verdict::wording;
use assay_record::terms::{Measure, Scale};

/// Shown in place of a missing number.
pub const NONE: &str = "\u{2013}";

/// The number as `shown`, or a dash if there is none.
pub fn or_none<T>(number: Option<T>, shown: impl FnOnce(T) -> String) -> String {
    number.map_or_else(|| NONE.to_owned(), shown)
}

/// A unit for all values of one column or axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// `MB/s`, `kIOPS`.
    pub label: &'static str,
    /// Base units per unit.
    pub scale: f64,
    /// Decimals so that the largest value has at least three significant digits.
    pub decimals: usize,
}

impl Unit {
    /// A readable unit for rates of `measure` up to `largest`.
    pub fn for_rate(measure: &str, largest: f64) -> Self {
        // Workload metrics have their unit in their name.
        const OF_METRICS: &[Scale] = &[
            Scale { from: 1e9, unit: 1e9, label: "x 1e9" },
            Scale { from: 1e7, unit: 1e6, label: "x 1e6" },
            Scale { from: 0.0, unit: 1.0, label: "" },
        ];
        let units = Measure::parse(measure).map_or(OF_METRICS, |measure| measure.info().axis_units);
        let Scale { unit: scale, label, .. } = Scale::choose(units, largest);
        Self { label, scale, decimals: decimals_of(largest / scale) }
    }

    /// A readable unit for latencies in nanoseconds.
    pub(crate) fn for_latency(largest_ns: f64) -> Self {
        let (scale, label) = if largest_ns >= 1e9 {
            (1e9, "s")
        } else if largest_ns >= 1e6 {
            (1e6, "ms")
        } else {
            (1e3, "\u{b5}s")
        };
        Self { label, scale, decimals: decimals_of(largest_ns / scale) }
    }

    /// The number alone, for a column with the unit in its heading.
    pub fn number(self, value: f64) -> String {
        fixed(value / self.scale, self.decimals)
    }

    /// The number with its unit.
    pub(crate) fn with_label(self, value: f64) -> String {
        format!("{} {}", self.number(value), self.label).trim_end().to_owned()
    }
}

fn decimals_of(largest: f64) -> usize {
    if largest >= 1000.0 {
        0
    } else if largest >= 100.0 {
        1
    } else if largest >= 10.0 {
        2
    } else {
        3
    }
}

/// A number with this many decimals and a minus sign (U+2212); a dash if not finite.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{value:.decimals$}");
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    match text.strip_prefix('-') {
        Some(rest) if is_zero => rest.to_owned(),
        Some(rest) => format!("\u{2212}{rest}"),
        None => text,
    }
}

/// A number with as few digits as needed: `100`, `0.5`, `3.142`.
pub(crate) fn plain(value: f64) -> String {
    let text = fixed(value, 3);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A number with four significant digits, in scientific notation if very large or small.
#[must_use]
pub fn four(value: f64) -> String {
    match value.is_finite() {
        true => wording::number(value),
        false => NONE.to_owned(),
    }
}

/// A ratio with three decimals, so that a column aligns.
pub fn three(value: f64) -> String {
    fixed(value, 3)
}

/// Decimals for a column of percentages so that its smallest entry keeps two digits.
pub(crate) fn percent_decimals(smallest_fraction: f64) -> usize {
    if smallest_fraction >= 0.01 {
        2
    } else if smallest_fraction >= 0.001 {
        3
    } else {
        4
    }
}

/// A fraction as a percentage, without the percent sign.
pub fn percent(fraction: f64, decimals: usize) -> String {
    fixed(fraction * 100.0, decimals)
}

/// A relative error as a percentage, always with a plus or minus sign.
pub(crate) fn signed_percent(fraction: f64) -> String {
    let text = percent(fraction, 1);
    if fraction > 0.0 && text != "0.0" { format!("+{text}") } else { text }
}

/// Seconds, or minutes from two minutes on.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds >= 120.0 {
        format!("{} min", fixed(seconds / 60.0, 1))
    } else {
        format!("{} s", fixed(seconds, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_depends_on_the_largest_value_of_a_column() {
        let unit = Unit::for_rate("io.bytes", 52_345_678.0);
        assert_eq!(unit.with_label(52_345_678.0), "52.35 MB/s");
        assert_eq!(unit.number(1_000_000.0), "1.00");
        assert_eq!(Unit::for_rate("io.ios", 6_594.2).with_label(6_594.2), "6594 IOPS");
        assert_eq!(Unit::for_rate("io.ios", 52_700.0).with_label(13_113.0), "13.11 kIOPS");
        assert_eq!(Unit::for_rate("io.bytes", 0.0).with_label(0.0), "0.000 B/s");
    }

    #[test]
    fn memory_uses_binary_units() {
        let held = 100.0 * 1_048_576.0;
        assert_eq!(Unit::for_rate("memory.current", held).with_label(held), "100.0 MiB");
        assert_eq!(Unit::for_rate("memory.refaults", 3.0).with_label(3.0), "3.000 pages/s");
    }

    #[test]
    fn percentages_keep_two_digits_of_the_smallest_value() {
        assert_eq!(percent(0.002_083, percent_decimals(0.002_083)), "0.208");
        assert_eq!(percent(0.5333, percent_decimals(0.0667)), "53.33");
    }

    #[test]
    fn signs_are_explicit_and_zero_has_none() {
        assert_eq!(signed_percent(0.012), "+1.2");
        assert_eq!(signed_percent(-0.012), "\u{2212}1.2");
        assert_eq!(signed_percent(-0.0001), "0.0");
        assert_eq!(fixed(f64::NAN, 2), NONE);
        assert_eq!(fixed(-10.0, 0), "\u{2212}10");
    }

    #[test]
    fn plain_numbers_have_no_needless_digits() {
        assert_eq!(plain(100.0), "100");
        assert_eq!(plain(0.5), "0.5");
        assert_eq!(plain(1000.0), "1000");
    }
}
