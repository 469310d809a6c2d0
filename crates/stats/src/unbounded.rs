//! Infinite numbers in JSON, which has no infinity: `null` stands for it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes `null` for an infinite bound.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    value.is_finite().then_some(*value).serialize(serializer)
}

/// Reads `null` as infinity.
pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}
