//! Text in tables for other programs.

use crate::terminal::but_line_ends;

/// A field of CSV (RFC 4180): in quotation marks where it has to be, also for programs that take a
/// semicolon or a tab for the end of a field.
#[must_use]
pub fn quoted(text: &str) -> String {
    if text.contains([',', ';', '\t', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The four signs that begin a formula, as East Asian input methods write them.
const FULL_WIDTH: [char; 4] = ['\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A field of CSV that no spreadsheet takes for a formula: those begin with one of `= + - @`, a tab
/// or a line end, and get an apostrophe in front, which spreadsheets read as "this is text". A number
/// stays one.
#[must_use]
pub fn csv(text: &str) -> String {
    let begins = text.trim_start_matches([' ', '\u{a0}']);
    let is_formula = begins.starts_with(['=', '+', '-', '@', '\t', '\r', '\n'])
        || begins.starts_with(FULL_WIDTH)
        || text.starts_with('\'');
    match is_formula && text.parse::<f64>().is_err() {
        true => quoted(&format!("'{text}")),
        false => quoted(text),
    }
}

/// The value of a label (OpenMetrics 1.0, escaped strings). What a terminal would obey is shown there,
/// too: the format lets every control but a line end stand as it is.
#[must_use]
pub fn openmetrics(text: &str) -> String {
    but_line_ends(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Whether it is the name of a metric (OpenMetrics 1.0). There is no way to escape others.
#[must_use]
pub fn is_metric_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || b"_:".contains(&byte);
    name.bytes().next().is_some_and(letter)
        && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_would_break_a_row_are_quoted() {
        for (text, wanted) in [("a/b", "a/b"), ("a,\"b\"", "\"a,\"\"b\"\"\""), ("a\nb", "\"a\nb\"")]
        {
            assert_eq!(csv(text), wanted);
        }
    }

    #[test]
    fn no_text_is_a_formula_and_numbers_stay_numbers() {
        for (text, wanted) in [
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
            assert_eq!(csv(text), wanted);
        }
    }

    #[test]
    fn a_label_stays_in_its_line_and_a_name_is_one() {
        assert_eq!(openmetrics("a\"b\\\nc\r"), "a\\\"b\\\\\\nc\\\\r");
        let obeyed = "\u{1b}]0;a\u{7}\u{9b}2J\t\u{202e}";
        assert_eq!(openmetrics(obeyed), "\\\\x1b]0;a\\\\x07\\\\u009b2J\\\\t\\\\u202e");
        assert!(is_metric_name("assay_io_read_bytes") && is_metric_name(":a1"));
        for bad in ["", "1a", "x 1\nevil 6\n#", "a-b", "g\u{fc}n"] {
            assert!(!is_metric_name(bad), "{bad}");
        }
    }
}
