//! A table cell and the trait of table writers.

/// A cell value, borrowed from its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    /// No value.
    None,
    /// A text.
    Text(&'a str),
    /// An unsigned integer.
    Whole(u64),
    /// A floating-point number.
    Number(f64),
    /// A boolean.
    Flag(bool),
}

impl<'a> Cell<'a> {
    pub(crate) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::None, Self::Text)
    }

    /// A number; null if it is infinite or NaN, which many readers cannot handle (and JSON cannot
    /// express).
    pub(crate) fn number(value: impl Into<Option<f64>>) -> Self {
        match value.into() {
            Some(value) if value.is_finite() => Self::Number(value),
            _ => Self::None,
        }
    }

    pub(crate) fn whole(value: usize) -> Self {
        Self::Whole(value as u64)
    }

    pub(crate) fn flag(value: Option<bool>) -> Self {
        value.map_or(Self::None, Self::Flag)
    }
}

/// A table writer of one format.
pub(crate) trait Sink {
    /// Writes one row with one cell per column.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), crate::Error>;
    /// Flushes remaining rows and moves the file to its final path.
    fn finish(self: Box<Self>) -> Result<(), crate::Error>;
}
