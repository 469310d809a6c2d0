//! Locations: byte ranges of a source text, and lines and columns.

use std::ops::Range;

use serde::Serialize;

/// A location as counted by editors, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// In characters, not bytes.
    pub column: usize,
    /// In bytes from the start of the text, from 0.
    pub offset: usize,
}

/// Restricts the range to the text and moves its ends to character boundaries. A parser may point
/// past the end of a truncated text.
#[must_use]
pub fn clamp(span: &Range<usize>, source: &str) -> Range<usize> {
    let start = floor_boundary(source, span.start);
    let end = floor_boundary(source, span.end).max(start);
    start..end
}

/// The line and column of the byte `offset`.
pub(crate) fn position(offset: usize, source: &str) -> Position {
    let offset = floor_boundary(source, offset);
    let before = &source[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        offset,
    }
}

fn floor_boundary(source: &str, offset: usize) -> usize {
    let mut offset = offset.min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_and_characters_from_one() {
        let source = "a = 1\n\u{e9}b = 2\n";
        assert_eq!(position(0, source), Position { line: 1, column: 1, offset: 0 });
        assert_eq!(position(9, source), Position { line: 2, column: 3, offset: 9 });
    }

    #[test]
    fn a_location_past_the_end_or_inside_a_character_is_moved_back() {
        let source = "\u{e9}";
        assert_eq!(clamp(&(1..99), source), 0..2);
        assert_eq!(position(99, source).offset, 2);
    }
}
