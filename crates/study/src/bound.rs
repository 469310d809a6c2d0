//! Bounds of promises.

use assay_record::terms::{Measure, PROGRESS};
use assay_sys::units::{Bytes, parse_duration};

use crate::syntax::Scalar;

/// Parses the bound of a promise in the unit of its measure, per second: bytes for `io.bytes`,
/// requests for `io.ios`, CPU seconds for `cpu.time`, pages for `memory.refaults`. For
/// `memory.current` and `memory.dirty` it is an amount of bytes. An amount with a unit (`10 MiB`)
/// is accepted for these two and for `io.bytes` only. For `progress` it is a time such as `100 ms`, in
/// seconds. `None` unless the result is a positive number.
#[must_use]
pub fn parse_bound(measure: &str, scalar: &Scalar) -> Option<f64> {
    let number = match scalar {
        Scalar::Text(text) if measure == PROGRESS => parse_duration(text).ok()?.as_secs_f64(),
        _ if measure == PROGRESS => return None,
        Scalar::Text(text) if Measure::parse(measure).is_some_and(|one| one.info().is_in_bytes) => {
            text.parse::<Bytes>().ok()?.get() as f64
        }
        Scalar::Text(text) => text.trim().parse().ok()?,
        _ => scalar.number()?,
    };
    (number.is_finite() && number > 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_with_a_unit_are_accepted_for_measures_of_bytes_only() {
        let amount = Scalar::Text("10 MiB".to_owned());
        assert_eq!(parse_bound("io.bytes", &amount), Some(10.0 * 1_048_576.0));
        assert_eq!(parse_bound("io.ios", &amount), None);
        assert_eq!(parse_bound("cpu.time", &Scalar::Text("0.5".to_owned())), Some(0.5));
        assert_eq!(parse_bound("progress", &Scalar::Text("100 ms".to_owned())), Some(0.1));
        assert_eq!(parse_bound("progress", &Scalar::Float(0.1)), None);
    }

    #[test]
    fn zero_and_negative_numbers_are_not_bounds() {
        assert_eq!(parse_bound("io.ios", &Scalar::Integer(0)), None);
        assert_eq!(parse_bound("io.ios", &Scalar::Float(-1.0)), None);
    }
}
