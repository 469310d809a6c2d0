//! Why a text is not a quantity.

use std::fmt;

/// A text that could not be read as a quantity, with what was expected instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// The text as given.
    pub text: String,
    /// What would have been accepted, as a phrase that follows "expected".
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

/// Splits `"12.5 MiB"` into the number and the unit behind it.
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
