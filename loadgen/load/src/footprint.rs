//! Prediction of the memory a run will touch.

use assay_sys::units::Bytes;
use serde_json::{Value, json};

/// Memory that is in use at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// `construction`, `searches`.
    pub name: &'static str,
    /// Large arrays by name and size in bytes.
    pub parts: Vec<(&'static str, u64)>,
}

/// The phases of a run. The peak is the largest of them, not their sum.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint {
    phases: Vec<Phase>,
    /// Memory used before the run begins: code, stacks, libraries.
    base: u64,
}

impl Footprint {
    /// A footprint of these phases.
    #[must_use]
    pub fn new(phases: Vec<Phase>) -> Self {
        Self { phases, base: 0 }
    }

    /// Adds the memory the process already uses.
    #[must_use]
    pub fn with_base(mut self, base: u64) -> Self {
        self.base = base;
        self
    }

    /// The phases.
    #[must_use]
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// Bytes of one phase, base included.
    #[must_use]
    pub fn phase_bytes(&self, phase: &Phase) -> u64 {
        phase.parts.iter().map(|(_, bytes)| bytes).sum::<u64>() + self.base
    }

    /// Peak resident memory in bytes.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.phases.iter().map(|phase| self.phase_bytes(phase)).max().unwrap_or(self.base)
    }

    /// The phases and their parts in bytes, as an array.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.phases
            .iter()
            .map(|phase| {
                let parts: serde_json::Map<String, Value> = phase
                    .parts
                    .iter()
                    .map(|(name, bytes)| (name.to_string(), json!(bytes)))
                    .collect();
                json!({ "name": phase.name, "bytes": self.phase_bytes(phase), "parts": parts })
            })
            .collect()
    }
}

/// Formats an amount with three digits and a binary unit, where [`Bytes`] is exact and long.
pub(crate) fn format_bytes(bytes: u64) -> String {
    const UNITS: [(f64, &str); 4] = [
        ((1u64 << 40) as f64, "TiB"),
        ((1u64 << 30) as f64, "GiB"),
        ((1u64 << 20) as f64, "MiB"),
        ((1u64 << 10) as f64, "KiB"),
    ];
    for (scale, unit) in UNITS {
        let amount = bytes as f64 / scale;
        if amount >= 1.0 {
            return if amount < 10.0 {
                format!("{amount:.2} {unit}")
            } else if amount < 100.0 {
                format!("{amount:.1} {unit}")
            } else {
                format!("{amount:.0} {unit}")
            };
        }
    }
    Bytes::new(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_largest_phase_and_not_their_sum() {
        let footprint = Footprint::new(vec![
            Phase { name: "first", parts: vec![("a", 100), ("b", 20)] },
            Phase { name: "second", parts: vec![("a", 100), ("c", 30)] },
        ])
        .with_base(5);
        assert_eq!(footprint.peak(), 135);
        assert_eq!(footprint.to_json()[1]["parts"]["c"], 30);
    }

    #[test]
    fn amounts_are_shown_with_three_digits() {
        for (bytes, text) in [
            (17, "17 B"),
            (1 << 20, "1.00 MiB"),
            (289_000_000, "276 MiB"),
            (3 << 39, "1.50 TiB"),
            (12_900, "12.6 KiB"),
        ] {
            assert_eq!(format_bytes(bytes), text);
        }
    }
}
