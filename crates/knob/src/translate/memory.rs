//! Memory limits: bytes in, whole pages kept.

use assay_units::{Bytes, Limit};

use super::{Translation, Untranslatable, Version};
use crate::knob::Knob;

/// The smallest page of the architectures Linux runs on here. Larger pages round further down,
/// which reading the knob back shows.
const SMALLEST_PAGE: u64 = 4_096;

pub(super) fn limit(
    knob: &Knob,
    value: &str,
    version: Version,
) -> Result<Translation, Untranslatable> {
    let limit: Limit<Bytes> = value.parse().map_err(|error: assay_units::UnitError| {
        Untranslatable::new(error.to_string(), "write an amount of data or `max`")
    })?;
    let file = match version {
        Version::V1 => "memory.limit_in_bytes",
        Version::V2 => knob.name,
    };
    let translation = Translation::new(version, knob, file, written(limit, version));
    Ok(match limit {
        Limit::Value(bytes) if !bytes.get().is_multiple_of(SMALLEST_PAGE) => translation
            .note(format!("the kernel keeps whole pages: {} is rounded down", bytes.get())),
        _ => translation,
    })
}

fn written(limit: Limit<Bytes>, version: Version) -> String {
    match (limit, version) {
        (Limit::Value(bytes), _) => bytes.get().to_string(),
        (Limit::Max, Version::V1) => "-1".to_owned(),
        (Limit::Max, Version::V2) => "max".to_owned(),
    }
}
