//! Parses JSON of unknown origin. A value takes up to a hundred times as much memory as its text, so the
//! values of a document are counted before any is built. Its nesting is limited by `serde_json`, to 128.

use serde::de::{DeserializeOwned, Error as _};

use crate::run_folder::limit;

/// Parses a document of a run folder or a fleet's folder.
pub fn parse_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    check(text, limit::json_values(), limit::HOW_TO_LIFT)?;
    serde_json::from_str(text)
}

/// Refuses output of a program whose first document has more values than are read. Whatever follows it is
/// not looked at.
pub fn check_json_output(text: &str) -> serde_json::Result<()> {
    check(text, limit::OUTPUT_VALUES, "print a shorter document")
}

/// Refuses a text whose first document has more than `limit` values. Every value but the first follows a
/// comma or the bracket of its array or object.
fn check(text: &str, limit: usize, remedy: &str) -> serde_json::Result<()> {
    let (mut values, mut depth, mut in_string, mut escaped) = (1_usize, 0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => (values, depth) = (values + 1, depth + 1),
            b',' => values += 1,
            b']' | b'}' if depth <= 1 => return Ok(()),
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if values > limit {
            let line = 1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
            return Err(serde_json::Error::custom(format!(
                "it has more than {limit} values, the limit, up to line {line}; {remedy}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judging a run again must end in the same bytes. Without `float_roundtrip` of serde_json some numbers
    /// were read as their neighbours.
    #[test]
    fn a_number_is_read_as_it_was_written() {
        for step in 0..100_000_u32 {
            let number = (f64::from(step) + 0.1) / 3.7e-7;
            let read: f64 = parse_json(&serde_json::to_string(&number).unwrap()).unwrap();
            assert_eq!(read.to_bits(), number.to_bits(), "{number}");
        }
    }

    #[test]
    fn values_of_the_first_document_are_counted() {
        let count = |text: &str| (1..).find(|limit| check(text, *limit, "").is_ok()).unwrap();
        assert_eq!(count("7"), 1);
        assert_eq!(count(r#"{"a": 1, "b": [2, 3]}"#), 5);
        assert_eq!(count(r#"["a,[,{\",", "\\"]"#), 3, "text is one value");
        assert_eq!(count("[1] [2, 3, 4, 5]"), 2, "what follows is not parsed");
        assert_eq!(count("[[],[],{}]"), 7, "an empty one counts as two");
    }

    #[test]
    fn the_error_names_the_limit_and_the_line() {
        let error = check("[1,\n2,\n3,\n4]", 3, "").unwrap_err().to_string();
        assert!(error.contains("more than 3 values") && error.contains("line 2"), "{error}");
    }
}
