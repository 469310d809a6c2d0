//! Values for one disk: `MAJ:MIN VALUE` and `MAJ:MIN KEY=VALUE ...`.

use std::fmt;

use assay_sys::units::Bytes;

use crate::knob::amount::microseconds;

/// Placeholder in a value for the `MAJ:MIN` of the group's disk, which is known only when the disk
/// exists; the runner replaces it.
pub const PLACEHOLDER: &str = "{device}";

/// One key of a value for a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: KeyKind,
}

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Bytes per second, also with a unit.
    Rate,
    /// The same, or `max`.
    RateOrMax,
    /// Requests per second.
    Count,
    /// The same, or `max`.
    CountOrMax,
    /// Microseconds, or a duration with its unit.
    Microseconds,
    /// A number with up to two decimals.
    Percent,
    /// One of these words.
    Words(&'static [&'static str]),
}

impl Key {
    pub(crate) const fn new(name: &'static str, kind: KeyKind) -> Self {
        Self { name, kind }
    }

    fn normal(&self, value: &str) -> Option<String> {
        match self.kind {
            KeyKind::RateOrMax | KeyKind::CountOrMax if value == "max" => Some(value.to_owned()),
            KeyKind::Rate | KeyKind::RateOrMax => value
                .parse::<Bytes>()
                .ok()
                .filter(|rate| rate.get() > 0)
                .map(|rate| rate.get().to_string()),
            KeyKind::Count | KeyKind::CountOrMax => {
                value.parse::<u64>().ok().filter(|n| *n > 0).map(|n| n.to_string())
            }
            KeyKind::Microseconds => microseconds(value, 0, u64::from(u32::MAX)),
            KeyKind::Percent => {
                let number: f64 = value.parse().ok()?;
                (number.is_finite() && number >= 0.0).then(|| format!("{number:.2}"))
            }
            KeyKind::Words(words) => words.contains(&value).then(|| value.to_owned()),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            KeyKind::Rate => "BYTES".to_owned(),
            KeyKind::RateOrMax => "BYTES|max".to_owned(),
            KeyKind::Count => "NUMBER".to_owned(),
            KeyKind::CountOrMax => "NUMBER|max".to_owned(),
            KeyKind::Microseconds => "MICROSECONDS".to_owned(),
            KeyKind::Percent => "PERCENT".to_owned(),
            KeyKind::Words(words) => words.join("|"),
        };
        write!(f, "{}={kind}", self.name)
    }
}

/// Whether this is a pair of device numbers, or the placeholder.
pub(crate) fn is_device(word: &str) -> bool {
    word == PLACEHOLDER
        || word.split_once(':').is_some_and(|(major, minor)| {
            major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok()
        })
}

/// Splits a value into the device, or the placeholder if it names none, and the rest.
pub(crate) fn split(value: &str) -> (&str, &str) {
    match value.split_once(char::is_whitespace) {
        Some((device, rest)) if is_device(device) => (device, rest.trim()),
        _ => (PLACEHOLDER, value),
    }
}

/// A weight for all disks or for one.
pub(crate) fn weight(value: &str, low: i64, high: i64) -> Option<String> {
    let parse = |text: &str| text.parse::<i64>().ok().filter(|w| (low..=high).contains(w));
    match value.split_once(char::is_whitespace) {
        None => parse(value).map(|weight| weight.to_string()),
        Some(("default", weight)) => parse(weight.trim()).map(|weight| format!("default {weight}")),
        Some((device, rest)) if is_device(device) => {
            let rest = rest.trim();
            (rest == "default" || parse(rest).is_some()).then(|| format!("{device} {rest}"))
        }
        Some(_) => None,
    }
}

/// A number for one disk.
pub(crate) fn number(value: &str, high: u64, is_bytes: bool) -> Option<String> {
    let (device, rest) = split(value);
    let number = if is_bytes { rest.parse::<Bytes>().ok()?.get() } else { rest.parse().ok()? };
    (number <= high).then(|| format!("{device} {number}"))
}

/// Keys with values for one disk; each key at most once, and at least one.
pub(crate) fn keys(value: &str, known: &[Key]) -> Option<String> {
    let (device, rest) = split(value);
    let mut present: Vec<&str> = Vec::new();
    let mut written = vec![device.to_owned()];
    for pair in pairs(rest) {
        let (name, value) = pair.split_once('=')?;
        let key = known.iter().find(|key| key.name == name)?;
        if present.contains(&key.name) {
            return None;
        }
        present.push(key.name);
        written.push(format!("{name}={}", key.normal(value.trim())?));
    }
    (!present.is_empty()).then(|| written.join(" "))
}

/// Splits into `key=value` texts. A unit may be separated from its number: `rbps=10 MiB wbps=max`.
fn pairs(text: &str) -> Vec<String> {
    let mut pairs: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match pairs.last_mut() {
            Some(pair) if !word.contains('=') => {
                pair.push(' ');
                pair.push_str(word);
            }
            _ => pairs.push(word.to_owned()),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &[Key] =
        &[Key::new("rbps", KeyKind::RateOrMax), Key::new("riops", KeyKind::CountOrMax)];

    #[test]
    fn a_value_without_a_device_is_for_the_disk_of_the_group() {
        assert_eq!(keys("rbps=1 MiB", LIMITS).as_deref(), Some("{device} rbps=1048576"));
        let named = keys("8:16 riops=120 rbps=max", LIMITS);
        assert_eq!(named.as_deref(), Some("8:16 riops=120 rbps=max"));
    }

    #[test]
    fn unknown_repeated_empty_and_zero_keys_are_refused() {
        for text in ["", "8:16", "wbps=1", "rbps", "rbps=", "rbps=0", "riops=1k", "rbps=1 rbps=2"] {
            assert_eq!(keys(text, LIMITS), None, "{text}");
        }
    }

    /// `ioc_cost_model_write` takes numbers only: EINVAL.
    #[test]
    fn a_model_has_no_max() {
        const MODEL: &[Key] =
            &[Key::new("rbps", KeyKind::Rate), Key::new("rseqiops", KeyKind::Count)];
        for text in ["rbps=max", "rseqiops=max"] {
            assert_eq!(keys(text, MODEL), None, "{text}");
        }
        assert_eq!(
            keys("rbps=1m rseqiops=9", MODEL).as_deref(),
            Some("{device} rbps=1048576 rseqiops=9")
        );
    }

    #[test]
    fn weights_are_for_all_disks_or_for_one() {
        for (text, normal) in [
            ("200", Some("200")),
            ("default 200", Some("default 200")),
            ("8:0 200", Some("8:0 200")),
            ("8:0 default", Some("8:0 default")),
            ("8:0 0", None),
            ("sda 200", None),
        ] {
            assert_eq!(weight(text, 1, 1_000).as_deref(), normal, "{text}");
        }
    }
}
