//! Number formats of printf(3), expected by parsers of the original's output.

/// `%20.17e`.
pub(super) fn exponential(value: f64) -> String {
    format!("{:>20}", scientific(value, 17))
}

/// `%.{digits}g`: significant digits without trailing zeroes.
pub(super) fn general(value: f64, digits: usize) -> String {
    let digits = digits.max(1);
    if !value.is_finite() {
        return not_finite(value);
    }
    let rounded = format!("{value:.*e}", digits - 1);
    let exponent = rounded.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let text = scientific(value, digits - 1);
        return match text.split_once('e') {
            Some((mantissa, exponent)) => format!("{}e{exponent}", trim_zeroes(mantissa)),
            None => text,
        };
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trim_zeroes(&format!("{value:.decimals$}")).to_owned()
}

fn trim_zeroes(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The exponent has a sign and at least two digits.
fn scientific(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return not_finite(value);
    }
    let text = format!("{value:.decimals$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

fn not_finite(value: f64) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_have_a_sign_and_two_digits() {
        assert_eq!(exponential(1_048_569.0), "1.04856900000000000e+06");
        assert_eq!(exponential(0.0), "0.00000000000000000e+00");
        assert_eq!(exponential(5.7e-1), "5.69999999999999951e-01");
        assert_eq!(exponential(f64::NAN), "                 nan");
    }

    /// Compared with printf("%g"), printf("%.11g").
    #[test]
    fn short_forms_are_those_of_printf() {
        for (value, text) in [
            (0.5, "0.5"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_123_456_7, "0.000123457"),
            (0.000_012_345_6, "1.23456e-05"),
            (0.0, "0"),
            (-2.25, "-2.25"),
            (999_999.6, "1e+06"),
        ] {
            assert_eq!(general(value, 6), text);
        }
        assert_eq!(general(16_777_027.0, 11), "16777027");
        assert_eq!(general(123_456_789_012.0, 11), "1.2345678901e+11");
    }
}
