//! Bounds of promises.

use assay_units::Bytes;

use crate::syntax::Scalar;

/// The bound that `scalar` is for a measure, in the measure's unit per second: bytes for
/// `io.bytes`, requests for `io.ios`, CPU seconds for `cpu.time`, pages for `memory.refaults`;
/// for `memory.current` and `memory.dirty` it is an amount of bytes. `None` when it is no positive number; an amount
/// with a unit, `10 MiB`, is one for these and `io.bytes` alone.
#[must_use]
pub fn rate(measure: &str, scalar: &Scalar) -> Option<f64> {
    let number = match scalar {
        Scalar::Integer(number) => *number as f64,
        Scalar::Float(number) => *number,
        Scalar::Text(text) if matches!(measure, "io.bytes" | "memory.current" | "memory.dirty") => {
            text.parse::<Bytes>().ok()?.get() as f64
        }
        Scalar::Text(text) => text.trim().parse().ok()?,
        Scalar::Boolean(_) => return None,
    };
    (number.is_finite() && number > 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rates_of_bytes_only() {
        let amount = Scalar::Text("10 MiB".to_owned());
        assert_eq!(rate("io.bytes", &amount), Some(10.0 * 1_048_576.0));
        assert_eq!(rate("io.ios", &amount), None);
        assert_eq!(rate("cpu.time", &Scalar::Text("0.5".to_owned())), Some(0.5));
    }

    #[test]
    fn nothing_and_less_than_nothing_are_no_bounds() {
        assert_eq!(rate("io.ios", &Scalar::Integer(0)), None);
        assert_eq!(rate("io.ios", &Scalar::Float(-1.0)), None);
    }
}
