//! Ranges of values, and their normal form for the kernel.

use std::fmt;

use assay_sys::units::{Bytes, IdSet};

use crate::knob::amount::{bytes_or_max, microseconds};
use crate::knob::bandwidth;
use crate::knob::device;
use crate::knob::device_rule;
use crate::knob::named;

/// The values that a knob accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueRange {
    /// A whole number in this range, inclusive.
    Integer {
        /// The smallest.
        low: i64,
        /// The largest.
        high: i64,
    },
    /// A whole number in this range, or `max`.
    IntegerOrMax {
        /// The smallest.
        low: i64,
        /// The largest.
        high: i64,
    },
    /// `0` or `1`, also written `false` and `true`.
    Switch,
    /// One of these words.
    Words(&'static [&'static str]),
    /// An amount of data, or `max`.
    BytesOrMax,
    /// An amount of data of at least `low`, or 0.
    BytesOrZero {
        /// The smallest besides 0.
        low: u64,
    },
    /// An amount of data, or `max`, which v1 spells `-1`.
    BytesOrMinusOne,
    /// An amount of data, optionally followed by `swappiness=` with 0 to 200 or `max`.
    Reclaim,
    /// Microseconds in this range, as a number or as a duration with its unit.
    Microseconds {
        /// The smallest.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// Microseconds in this range, or `-1` for no bound.
    MicrosecondsOrMinusOne {
        /// The smallest.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// `QUOTA`, `QUOTA PERIOD`, `max` or `max PERIOD` in microseconds, or a percentage of one CPU.
    CpuBandwidth,
    /// A percentage from 0 to 100 with two decimals, or `max`.
    PercentOrMax,
    /// A list of ids, `0-3,8`.
    IdList,
    /// A weight for all disks, `default WEIGHT`, or `MAJ:MIN WEIGHT` for one of them.
    Weights {
        /// The smallest.
        low: i64,
        /// The largest.
        high: i64,
    },
    /// `[MAJ:MIN] NUMBER`: a number for one disk; 0 removes it.
    DeviceNumber {
        /// The largest.
        high: u64,
        /// Whether the number is an amount of data, so that units are accepted.
        is_bytes: bool,
    },
    /// `[MAJ:MIN] KEY=VALUE ...` for one disk.
    DeviceKeys(&'static [device::Key]),
    /// `NAME KEY=NUMBER ...` for a named thing; a number may be `max`.
    NamedKeys(&'static [&'static str]),
    /// `NAME NUMBER` for a named thing.
    NamedNumber {
        /// Whether the number is an amount of data, so that units are accepted.
        is_bytes: bool,
        /// Whether it may be `max`.
        may_be_max: bool,
    },
    /// A class of network traffic, `0xAAAABBBB`, `AAAA:BBBB` in hexadecimal, or the number.
    ClassId,
    /// Device rules such as `c 1:3 rwm`, separated by commas.
    DeviceRules,
    /// Any text; only the kernel can check it.
    Text,
}

impl ValueRange {
    /// Normalizes `value` for the kernel, or returns `None` if it is invalid. Values for one disk
    /// that name none begin with [`device::PLACEHOLDER`].
    #[must_use]
    pub fn normal(&self, value: &str) -> Option<String> {
        let value = value.trim();
        match *self {
            Self::Integer { low, high } => integer(value, low, high),
            Self::IntegerOrMax { low, high } => or_max(value, |value| integer(value, low, high)),
            Self::Switch => switch(value),
            Self::Words(words) => words.contains(&value).then(|| value.to_owned()),
            Self::BytesOrMax => bytes_or_max(value),
            Self::BytesOrZero { low } => value
                .parse::<Bytes>()
                .ok()
                .filter(|bytes| bytes.get() == 0 || bytes.get() >= low)
                .map(|bytes| bytes.get().to_string()),
            Self::BytesOrMinusOne => match bytes_or_max(value) {
                Some(text) if text == "max" => Some("-1".to_owned()),
                // The value of an unlimited file, 2^63 less a page, may be written back.
                None if value == "-1" || value.parse::<u64>().is_ok() => Some(value.to_owned()),
                other => other,
            },
            Self::Reclaim => reclaim(value),
            Self::Microseconds { low, high } => microseconds(value, low, high),
            Self::MicrosecondsOrMinusOne { low, high } => match value {
                "-1" | "max" => Some("-1".to_owned()),
                _ => microseconds(value, low, high),
            },
            Self::CpuBandwidth => bandwidth::normal(value),
            Self::PercentOrMax => or_max(value, percent),
            Self::IdList => {
                value.parse::<IdSet>().is_ok_and(|ids| !ids.is_empty()).then(|| value.to_owned())
            }
            Self::Weights { low, high } => device::weight(value, low, high),
            Self::DeviceNumber { high, is_bytes } => device::number(value, high, is_bytes),
            Self::DeviceKeys(keys) => device::keys(value, keys),
            Self::NamedKeys(keys) => named::keys(value, keys),
            Self::NamedNumber { is_bytes, may_be_max } => {
                named::number(value, is_bytes, may_be_max)
            }
            Self::ClassId => named::class_id(value),
            Self::DeviceRules => device_rule::normal(value),
            Self::Text => Some(value.to_owned()),
        }
    }

    /// Whether a value of this range is a single number, so that shares can be proportional to it.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Integer { .. }
                | Self::IntegerOrMax { .. }
                | Self::Switch
                | Self::BytesOrMax
                | Self::BytesOrZero { .. }
                | Self::BytesOrMinusOne
                | Self::Microseconds { .. }
                | Self::MicrosecondsOrMinusOne { .. }
                | Self::CpuBandwidth
                | Self::PercentOrMax
                | Self::Weights { .. }
        )
    }
}

fn integer(value: &str, low: i64, high: i64) -> Option<String> {
    let number: i64 = value.parse().ok()?;
    (low..=high).contains(&number).then(|| number.to_string())
}

fn or_max(value: &str, other: impl Fn(&str) -> Option<String>) -> Option<String> {
    if value == "max" { Some(value.to_owned()) } else { other(value) }
}

fn switch(value: &str) -> Option<String> {
    match value {
        "0" | "false" => Some("0".to_owned()),
        "1" | "true" => Some("1".to_owned()),
        _ => None,
    }
}

/// The kernel accepts two decimals (kernel/sched/core.c: capacity_from_percent).
fn percent(value: &str) -> Option<String> {
    let number: f64 = value.trim_end_matches('%').trim_end().parse().ok()?;
    (0.0..=100.0).contains(&number).then(|| format!("{number:.2}"))
}

/// memory.reclaim accepts swappiness since 6.8, and `max` for it since 6.16.
fn reclaim(value: &str) -> Option<String> {
    let (amount, swappiness) = match value.split_once(" swappiness=") {
        Some((amount, swappiness)) => (amount, Some(swappiness)),
        None => (value, None),
    };
    let bytes: Bytes = amount.trim().parse().ok()?;
    let Some(swappiness) = swappiness else { return Some(bytes.get().to_string()) };
    let swappiness = or_max(swappiness, |text| integer(text, 0, 200))?;
    Some(format!("{} swappiness={swappiness}", bytes.get()))
}

const AMOUNT: &str = "an amount of data such as `64 MiB`";

fn joined(words: impl Iterator<Item = String>, between: &str) -> String {
    words.collect::<Vec<_>>().join(between)
}

impl fmt::Display for ValueRange {
    /// A phrase that follows "takes".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { low, high } if low == high => write!(f, "only `{low}`"),
            Self::Integer { low, high } => write!(f, "a whole number from {low} to {high}"),
            Self::IntegerOrMax { low, high } => {
                write!(f, "a whole number from {low} to {high}, or `max`")
            }
            Self::Switch => f.write_str("`0` or `1`"),
            Self::Words(words) => {
                f.write_str(&joined(words.iter().map(|word| format!("`{word}`")), ", "))
            }
            Self::BytesOrMax => write!(f, "{AMOUNT}, or `max`"),
            Self::BytesOrZero { low } => write!(f, "{AMOUNT}, at least {low} bytes, or 0"),
            Self::BytesOrMinusOne => write!(f, "{AMOUNT}, or `max`, which v1 spells `-1`"),
            Self::Reclaim => write!(f, "{AMOUNT}, optionally followed by `swappiness=0..200`"),
            Self::Microseconds { low, high } => {
                write!(f, "microseconds from {low} to {high}, or a duration such as `10 ms`")
            }
            Self::MicrosecondsOrMinusOne { low, high } => write!(
                f,
                "microseconds from {low} to {high}, a duration such as `10 ms`, or `-1` for no \
                 bound"
            ),
            Self::CpuBandwidth => f.write_str(
                "`QUOTA PERIOD` in microseconds such as `50000 100000` (quota at least 1000 or \
                 `max`, period 1000 to 1000000), or a percentage of one CPU such as `50 %`",
            ),
            Self::PercentOrMax => {
                f.write_str("a percentage from 0 to 100 such as `12.50`, or `max`")
            }
            Self::IdList => f.write_str("a list of ids such as `0-3,8`"),
            Self::Weights { low, high } => write!(
                f,
                "a weight from {low} to {high}, or `MAJ:MIN WEIGHT` or `MAJ:MIN default` for one \
                 disk"
            ),
            Self::DeviceNumber { high, is_bytes } => {
                let what = if *is_bytes { "an amount of data" } else { "a whole number" };
                write!(f, "{what} up to {high} for the group's disk, or `MAJ:MIN NUMBER`")
            }
            Self::DeviceKeys(keys) => {
                let keys = joined(keys.iter().map(ToString::to_string), " ");
                write!(f, "`{keys}` for the group's disk, or with `MAJ:MIN` before it")
            }
            Self::NamedKeys(keys) => {
                let keys = joined(keys.iter().map(|key| format!("{key}=NUMBER|max")), " ");
                write!(f, "`NAME {keys}`")
            }
            Self::NamedNumber { is_bytes, may_be_max } => {
                let number = if *is_bytes { "BYTES" } else { "NUMBER" };
                let max = if *may_be_max { "|max" } else { "" };
                write!(f, "`NAME {number}{max}`")
            }
            Self::ClassId => f.write_str("a traffic class such as `0x100001` or `10:1`"),
            Self::DeviceRules => {
                f.write_str("rules such as `c 1:3 rwm`, `b 8:* r` or `a`, separated by commas")
            }
            Self::Text => f.write_str("any text"),
        }
    }
}
