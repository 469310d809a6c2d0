//! A bar with its interval and its promise, one sign a column: in the picture of a run in progress and under the
//! table of a verdict.

/// Sure: below the interval.
pub(crate) const SURE: char = '\u{2588}';
/// Within the interval.
pub(crate) const OPEN: char = '\u{2592}';
/// What was promised.
pub(crate) const PROMISE: char = '\u{2502}';

/// The signs of a bar that reaches from the left up to `low` for certain and up to `high` perhaps, both in columns,
/// with the promise in its column; blanks beyond. A column is what its centre is.
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
