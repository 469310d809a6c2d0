//! Text bars with an interval and a promise, one character per column, below the table of
//! a verdict.

/// The certain part: below the interval.
pub(crate) const SURE: char = '\u{2588}';
/// The uncertain part: within the interval.
pub(crate) const OPEN: char = '\u{2592}';
/// The promised value.
pub(crate) const PROMISE: char = '\u{2502}';

/// The characters of a bar that is certain up to `low` and uncertain up to `high`, both in columns,
/// with a mark in the column of the promise. A column is drawn by the value at its centre.
pub(crate) fn signs(
    low: f64,
    high: f64,
    promise: usize,
    columns: usize,
) -> impl Iterator<Item = char> {
    let sign = move |column: usize| match column as f64 + 0.5 {
        _ if column == promise => PROMISE,
        centre if centre <= low => SURE,
        centre if centre <= high => OPEN,
        _ => ' ',
    };
    (0..columns).map(sign)
}
