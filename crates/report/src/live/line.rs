//! A line of coloured pieces, cut to the terminal's columns before colouring, since colours take no
//! columns.

use assay_judge::verdict::Verdict;

use super::Style;
use crate::ascii::ascii;
use crate::wording;
use assay_sys::escape::page::Paint;

/// Style of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Bold,
    Faint,
    /// In the colour of a verdict.
    Verdict(Verdict),
}

/// One line of a frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Line {
    pieces: Vec<(Ink, String)>,
}

impl Line {
    /// Appends a piece. Texts from a study are escaped and cannot move the cursor.
    pub(super) fn then(mut self, ink: Ink, text: impl AsRef<str>) -> Self {
        self.pieces.push((ink, assay_sys::escape::line(text.as_ref()).into_owned()));
        self
    }

    /// Same as [`Self::then`], aligned to the right margin if possible.
    pub(super) fn then_right(self, columns: usize, ink: Ink, text: &str) -> Self {
        let gap = columns.saturating_sub(self.columns() + text.chars().count()).max(2);
        self.then(Ink::Plain, " ".repeat(gap)).then(ink, text)
    }

    /// Its full length in columns.
    pub(super) fn columns(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The line formatted for the terminal.
    pub(super) fn write(self, style: Style) -> String {
        let paint = Paint { color: style.color };
        let too_long = self.columns() > style.columns;
        // Mark a cut, so that part of a number is not read as the whole.
        let mut room = style.columns.saturating_sub(usize::from(too_long));
        let mut written = String::new();
        for (ink, text) in self.pieces {
            let kept: String = text.chars().take(room).collect();
            room -= kept.chars().count();
            let kept = if style.unicode { kept } else { ascii(&kept) };
            if !kept.is_empty() {
                written.push_str(&painted(paint, ink, &kept));
            }
        }
        if too_long && style.columns > 0 {
            written.push(if style.unicode { '\u{2026}' } else { '.' });
        }
        written
    }
}

fn painted(paint: Paint, ink: Ink, text: &str) -> String {
    match ink {
        Ink::Plain => text.to_owned(),
        Ink::Bold => paint.bold(text),
        Ink::Faint => paint.faint(text),
        Ink::Verdict(verdict) => paint.tone(wording::tone(verdict), text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Style = Style { columns: 10, rows: 5, color: false, unicode: false };

    #[test]
    fn long_line_ends_with_a_cut_mark() {
        let line = Line::default().then(Ink::Bold, "twelve").then(Ink::Plain, " signs");
        assert_eq!(line.clone().write(NARROW), "twelve si.");
        assert_eq!(line.write(Style { columns: 12, ..NARROW }), "twelve signs");
    }

    #[test]
    fn colours_take_no_columns_and_control_characters_are_escaped() {
        let line = Line::default().then(Ink::Verdict(Verdict::Broken), "out\u{1b}[2Jside");
        assert_eq!(
            line.write(Style { columns: 8, color: true, ..NARROW }),
            "\u{1b}[1;31mout\\x1b\u{1b}[0m."
        );
    }

    #[test]
    fn right_aligned_text_ends_in_the_last_column() {
        let line = Line::default().then(Ink::Plain, "ab").then_right(10, Ink::Plain, "yz");
        assert_eq!(line.write(NARROW), "ab      yz");
    }
}
