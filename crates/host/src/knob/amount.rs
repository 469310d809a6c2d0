//! Amounts of data and of time in their normal form for the kernel.

use assay_sys::units::{Bytes, Limit, parse_duration};

/// An amount of data in bytes, or `max`.
pub(crate) fn bytes_or_max(value: &str) -> Option<String> {
    match value.parse::<Limit<Bytes>>().ok()? {
        Limit::Max => Some("max".to_owned()),
        Limit::Value(bytes) => Some(bytes.get().to_string()),
    }
}

/// A number, or a duration with its unit, in microseconds.
pub(crate) fn microseconds(value: &str, low: u64, high: u64) -> Option<String> {
    let number: u64 = match value.parse() {
        Ok(number) => number,
        Err(_) => parse_duration(value).ok()?.as_micros().try_into().ok()?,
    };
    (low..=high).contains(&number).then(|| number.to_string())
}
