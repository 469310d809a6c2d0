//! Limits as parts of what the workloads of a group are predicted to need: `"0.6 footprint"`.

use assay_knob::{Knob, Unit};

/// The part of the footprint that a value stands for: 0.6 for `0.6 footprint` and for
/// `60 % footprint`. `None` where it is no such value; the part is above 0.
#[must_use]
pub fn footprint_part(text: &str) -> Option<f64> {
    let part = text.trim().strip_suffix("footprint")?.trim_end();
    let number: f64 = match part.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok()? / 100.0,
        None => part.parse().ok()?,
    };
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Whether a knob can hold a part of a footprint: it counts bytes of memory.
pub(crate) fn takes_footprint(knob: &Knob) -> bool {
    knob.controller == "memory" && knob.unit == Unit::Bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbers_or_percentages_above_nothing() {
        assert_eq!(footprint_part("0.6 footprint"), Some(0.6));
        assert_eq!(footprint_part(" 2footprint"), Some(2.0));
        assert_eq!(footprint_part("60 % footprint"), Some(0.6));
        for text in ["0 footprint", "-1 footprint", "footprint", "64 MiB", "inf footprint", ""] {
            assert_eq!(footprint_part(text), None, "{text}");
        }
    }

    #[test]
    fn only_bytes_of_memory_can_be_parts_of_a_footprint() {
        let takes = |name| assay_knob::find(name).is_some_and(takes_footprint);
        assert!(takes("memory.max") && takes("memory.high") && takes("memory.low"));
        assert!(!takes("io.weight") && !takes("cpu.max") && !takes("hugetlb.2MB.max"));
    }
}
