//! Formatting of numbers and lists in evidence and reasons.

use assay_record::run_folder::Levels;
use assay_record::terms::Measure;
use serde_json::Value;

/// `12.3 %`.
#[must_use]
pub fn percent(fraction: f64) -> String {
    let value = 100.0 * fraction;
    if value.abs() >= 100.0 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

/// A margin as users write it: `10 %`, `2.5 %`.
#[must_use]
pub fn margin(fraction: f64) -> String {
    let rounded = (fraction * 1e6).round() / 1e4;
    format!("{rounded} %")
}

/// Up to three items and the number of the others: evidence must stay readable at 128 groups.
#[must_use]
pub fn some_of(items: &[String], between: &str) -> String {
    const SHOWN: usize = 3;
    let shown = items.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(between);
    match items.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}{between}and {more} more"),
    }
}

/// The same joined by semicolons; `None` without any.
pub fn together(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    (!items.is_empty()).then(|| some_of(&items, "; "))
}

/// `1 group`, `2 groups`.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Repeats of unknown scatter, as the subject of a sentence.
pub fn few(repeats: usize) -> &'static str {
    match repeats {
        2 => "two identical repeats show",
        _ => "a single repeat shows",
    }
}

/// `memory = interleave, cpus = 0-1`.
#[must_use]
pub fn levels(levels: &Levels) -> String {
    let each = levels.iter().map(|(name, value)| format!("{name} = {}", level(value)));
    each.collect::<Vec<_>>().join(", ")
}

/// A level as in a study file, texts without quotation marks.
#[must_use]
pub fn level(level: &Value) -> String {
    level.as_str().map_or_else(|| level.to_string(), str::to_owned)
}

/// A rate in the unit of its measure.
#[must_use]
pub fn rate(measure: Measure, value: f64) -> String {
    measure.in_words(value)
}

/// A number of any size: four digits, more where it has more before the point, and powers of ten
/// where it is very large or very small.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if !(1e-3..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_name_three_and_count_the_rest() {
        let items: Vec<String> = (1..=5).map(|number| format!("task{number}")).collect();
        assert_eq!(some_of(&items, ", "), "task1, task2, task3, and 2 more");
        assert_eq!(some_of(&items[..2], ", "), "task1, task2");
    }

    #[test]
    fn numbers_keep_four_digits_whatever_their_size() {
        for (value, text) in [
            (1.1, "1.1"),
            (1.14159, "1.142"),
            (0.012_346, "0.01235"),
            (123_456.7, "123457"),
            (2.723e9, "2.723e9"),
            (0.0, "0"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn margins_read_as_they_are_written_in_studies() {
        assert_eq!(margin(0.1), "10 %");
        assert_eq!(margin(0.025), "2.5 %");
        assert_eq!(percent(1.234), "123 %");
        assert_eq!(percent(-0.031), "-3.1 %");
    }
}
