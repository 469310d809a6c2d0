//! Escaping of fields in tables for other programs.

use crate::escape::terminal::except_newlines;

/// Quotes a CSV field (RFC 4180) if necessary, also for programs that use a semicolon or a tab as
/// separator.
#[must_use]
pub fn quoted(text: &str) -> String {
    if text.contains([',', ';', '\t', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Full-width variants of the four characters that begin a formula, as written by East Asian input
/// methods.
const FULL_WIDTH: [char; 4] = ['\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Escapes a CSV field so that no spreadsheet interprets it as a formula: fields that begin with
/// one of `= + - @`, a tab or a newline get a leading apostrophe, which spreadsheets read as "this
/// is text". Numbers are unchanged.
#[must_use]
pub fn csv(text: &str) -> String {
    let trimmed = text.trim_start_matches([' ', '\u{a0}']);
    let is_formula = trimmed.starts_with(['=', '+', '-', '@', '\t', '\r', '\n'])
        || trimmed.starts_with(FULL_WIDTH)
        || text.starts_with('\'');
    match is_formula && text.parse::<f64>().is_err() {
        true => quoted(&format!("'{text}")),
        false => quoted(text),
    }
}

/// Escapes the value of a label (OpenMetrics 1.0, escaped strings). Control characters are escaped
/// too, because the format itself allows all but newlines.
#[must_use]
pub fn openmetrics(text: &str) -> String {
    except_newlines(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_would_break_a_row_are_quoted() {
        for (text, expected) in
            [("a/b", "a/b"), ("a,\"b\"", "\"a,\"\"b\"\"\""), ("a\nb", "\"a\nb\"")]
        {
            assert_eq!(csv(text), expected);
        }
    }

    #[test]
    fn no_field_is_a_formula_and_numbers_stay_numbers() {
        for (text, expected) in [
            ("=HYPERLINK(1;2)", "\"'=HYPERLINK(1;2)\""),
            ("a;=1", "\"a;=1\""),
            ("\u{ff0b}1", "'\u{ff0b}1"),
            ("@SUM(A1,A2)", "\"'@SUM(A1,A2)\""),
            ("+1+cmd|x", "'+1+cmd|x"),
            (" =1", "' =1"),
            ("'=1", "''=1"),
            ("-x", "'-x"),
            ("-5", "-5"),
            ("+0.5", "+0.5"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(csv(text), expected);
        }
    }

    #[test]
    fn a_label_stays_on_its_line_and_metric_names_are_checked() {
        assert_eq!(openmetrics("a\"b\\\nc\r"), "a\\\"b\\\\\\nc\\\\r");
        let controls = "\u{1b}]0;a\u{7}\u{9b}2J\t\u{202e}";
        assert_eq!(openmetrics(controls), "\\\\x1b]0;a\\\\x07\\\\u009b2J\\\\t\\\\u202e");
    }
}
