//! Durations such as `60 s`, `500 ms` or `3 h`.

use std::time::Duration;

use crate::units::error::{UnitError, split_number};

const EXPECTED: &str = "a duration with its unit, such as `500 ms`, `20 s`, `3 min` or `3 h`";

/// Parses a duration. The unit is required: a bare `60` is refused, because readers of a study file
/// could not tell seconds from milliseconds.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = split_number(text, EXPECTED)?;
    let seconds = match unit {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(UnitError::new(text, EXPECTED)),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| UnitError::new(text, EXPECTED))
}

/// Formats a duration in the largest unit that is exact to the microsecond.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let micros = duration.as_micros();
    for (scale, unit) in
        [(3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms")]
    {
        if micros >= scale && micros.is_multiple_of(scale) {
            return format!("{} {unit}", micros / scale);
        }
    }
    format!("{micros} us")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_number_with_its_unit() {
        for (text, millis) in [
            ("500 ms", 500),
            ("20s", 20_000),
            ("1.5 s", 1_500),
            ("3 min", 180_000),
            ("3h", 10_800_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refuses_a_number_without_a_unit() {
        for text in ["60", "", "s", "-1 s", "5 parsecs"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn printed_durations_parse_to_the_same_value() {
        for micros in [0, 1, 1_000, 1_500, 20_000_000, 60_000_000, 10_800_000_000] {
            let duration = Duration::from_micros(micros);
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }
}
