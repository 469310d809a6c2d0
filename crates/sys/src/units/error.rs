//! Errors of parsing quantities.

use std::fmt;

/// A text that is not a valid quantity, with what was expected instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// The text.
    pub text: String,
    /// The accepted values, as a phrase that follows "expected".
    pub expected: &'static str,
}

impl UnitError {
    pub(crate) fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.text, self.expected)
    }
}

impl std::error::Error for UnitError {}

/// Splits `"12.5 MiB"` into the number and its unit.
pub(crate) fn split_number<'t>(
    text: &'t str,
    expected: &'static str,
) -> Result<(f64, &'t str), UnitError> {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let number: f64 = trimmed[..end].parse().map_err(|_| UnitError::new(text, expected))?;
    if !number.is_finite() {
        return Err(UnitError::new(text, expected));
    }
    Ok((number, trimmed[end..].trim()))
}
