//! One value of a table.

/// A value, borrowed from wherever it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    /// There is none.
    None,
    /// A text.
    Text(&'a str),
    /// A whole number.
    Whole(u64),
    /// Any number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

impl<'a> Cell<'a> {
    pub(crate) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::None, Self::Text)
    }

    /// A number; none where it is infinite or no number, which no format but JSON lacks but all
    /// readers stumble over.
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

/// Where rows go: a file of one format.
pub(crate) trait Sink {
    /// Takes one row, a cell a column.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), crate::Error>;
    /// Writes what is left and puts the file in its place.
    fn finish(self: Box<Self>) -> Result<(), crate::Error>;
}
