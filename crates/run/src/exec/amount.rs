//! Human-readable amounts: bytes, seconds, percentages, counts.

/// Bytes in the largest binary unit with a value of at least one.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(scale, _)| count >= *scale) {
        None => format!("{count} B"),
        Some((scale, unit)) if count.is_multiple_of(scale) => format!("{} {unit}", count / scale),
        Some((scale, unit)) => format!("{:.1} {unit}", count as f64 / scale as f64),
    }
}

/// Seconds with about two significant digits.
pub(crate) fn seconds(time: f64) -> String {
    match time {
        t if t >= 60.0 => format!("{t:.0} s"),
        t if t >= 1.0 => format!("{t:.2} s"),
        t if t >= 0.001 => format!("{:.0} ms", t * 1e3),
        t if t > 0.0 => format!("{:.0} us", t * 1e6),
        _ => "0 s".to_owned(),
    }
}

/// A fraction as a percentage.
pub(crate) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent > 0.0 && percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A count with its noun: `1 process`, `3 processes`.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short_and_keep_their_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(64 << 20), "64 MiB");
        assert_eq!(bytes(1_600_000), "1.5 MiB");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(0.0123), "12 ms");
        assert_eq!(seconds(2.3456), "2.35 s");
        assert_eq!(percent(0.5), "50 %");
        assert_eq!(percent(0.0123), "1.2 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(count(1, "time", "times"), "1 time");
        assert_eq!(count(0, "time", "times"), "0 times");
    }
}
