//! Numbers in Java's text formats.

/// `Double.toString`: at least one decimal, and an exponent from 10^7 on and below 10^-3.
pub(super) fn double(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if size == 0.0 || (1e-3..1e7).contains(&size) {
        format!("{value:?}")
    } else {
        let text = format!("{value:E}");
        match text.split_once('E') {
            Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
            _ => text,
        }
    }
}

/// `DecimalFormat("#.##")`: at most two decimals, ties to the even neighbour.
pub(super) fn two_places(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "\u{221e}" } else { "-\u{221e}" }.to_owned();
    }
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Remaining time as in the status line: `1 day 2 hours `, `5 minutes `, `7 second `. As in the
/// original, a one-digit number always has `second`.
pub(super) fn remaining(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let part = |count: u64, unit: &str| match count {
        0 => String::new(),
        1 => format!("1 {unit} "),
        _ => format!("{count} {unit}s "),
    };
    let mut text = part(days, "day") + &part(hours, "hour");
    if days < 1 {
        text += &part(minutes, "minute");
    }
    if text.is_empty() {
        text = format!("{seconds} {} ", if seconds < 10 { "second" } else { "seconds" });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // All expected texts were printed by Java 17.

    #[test]
    fn doubles_are_formatted_as_in_java() {
        for (value, text) in [
            (0.0, "0.0"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (123_456_789.125, "1.23456789125E8"),
            (1.5e-3, "0.0015"),
            (9.99e-4, "9.99E-4"),
            (1e-5, "1.0E-5"),
            (1e21, "1.0E21"),
            (1_636.661_211_129_296_1, "1636.6612111292961"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn status_lines_round_to_two_decimals_as_in_java() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (0.005, "0.01"),
            (0.015, "0.01"),
            (0.125, "0.12"),
            (0.375, "0.38"),
            (99.995, "100"),
            (2.675, "2.67"),
            (1_234_567.891, "1234567.89"),
            (1e15, "1000000000000000"),
            (f64::INFINITY, "\u{221e}"),
        ] {
            assert_eq!(two_places(value), text, "{value}");
        }
    }

    #[test]
    fn remaining_time_is_formatted_as_in_ycsb() {
        for (seconds, text) in [
            (0, "0 second "),
            (7, "7 second "),
            (42, "42 seconds "),
            (60, "1 minute "),
            (3725, "1 hour 2 minutes "),
            (86_400 + 3600, "1 day 1 hour "),
        ] {
            assert_eq!(remaining(seconds), text);
        }
    }
}
