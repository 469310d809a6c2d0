//! Memory limits relative to the predicted footprint of a group's workloads: `"0.6 footprint"`.

use assay_host::knob::{Knob, Unit};

/// The fraction of the footprint: 0.6 for `0.6 footprint` and for `60 % footprint`, always above 0.
/// `None` for any other text.
#[must_use]
pub fn footprint_part(text: &str) -> Option<f64> {
    let part = text.trim().strip_suffix("footprint")?.trim_end();
    let number: f64 = match part.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok()? / 100.0,
        None => part.parse().ok()?,
    };
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Whether a knob accepts a fraction of a footprint: it counts bytes of memory.
pub(crate) fn takes_footprint(knob: &Knob) -> bool {
    knob.controller == "memory" && knob.unit == Unit::Bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_positive_numbers_or_percentages() {
        assert_eq!(footprint_part("0.6 footprint"), Some(0.6));
        assert_eq!(footprint_part(" 2footprint"), Some(2.0));
        assert_eq!(footprint_part("60 % footprint"), Some(0.6));
        for text in ["0 footprint", "-1 footprint", "footprint", "64 MiB", "inf footprint", ""] {
            assert_eq!(footprint_part(text), None, "{text}");
        }
    }

    #[test]
    fn only_memory_knobs_in_bytes_accept_a_footprint() {
        let takes = |name| assay_host::knob::find(name).is_some_and(takes_footprint);
        assert!(takes("memory.max") && takes("memory.high") && takes("memory.low"));
        assert!(!takes("io.weight") && !takes("cpu.max") && !takes("hugetlb.2MB.max"));
    }
}
