//! A line of pieces that know their colour, cut to the columns of a terminal before it is
//! coloured, since colours take no room.

use assay_verdict::Verdict;

use super::Style;
use crate::ascii::ascii;
use crate::text::paint::Paint;

/// What a piece looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Bold,
    Faint,
    /// In the colour of a verdict, or of what would be one.
    Verdict(Verdict),
}

/// One line of a frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Line {
    pieces: Vec<(Ink, String)>,
}

impl Line {
    /// The line with another piece at its end. What is in a study's own texts moves no cursor.
    pub(super) fn then(mut self, ink: Ink, text: impl AsRef<str>) -> Self {
        self.pieces.push((ink, assay_escape::line(text.as_ref()).into_owned()));
        self
    }

    /// The same with the piece at the right margin, or right behind the others.
    pub(super) fn then_right(self, columns: usize, ink: Ink, text: &str) -> Self {
        let gap = columns.saturating_sub(self.columns() + text.chars().count()).max(2);
        self.then(Ink::Plain, " ".repeat(gap)).then(ink, text)
    }

    /// Columns that it would take uncut.
    pub(super) fn columns(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The line as it goes to the terminal.
    pub(super) fn write(self, style: Style) -> String {
        let paint = Paint { color: style.color };
        let too_long = self.columns() > style.columns;
        // A cut is shown, so that nobody takes a part of a number for the whole.
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
        Ink::Verdict(verdict) => paint.verdict(verdict, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Style = Style { columns: 10, rows: 5, color: false, unicode: false };

    #[test]
    fn a_line_that_is_too_long_ends_with_the_sign_of_a_cut() {
        let line = Line::default().then(Ink::Bold, "twelve").then(Ink::Plain, " signs");
        assert_eq!(line.clone().write(NARROW), "twelve si.");
        assert_eq!(line.write(Style { columns: 12, ..NARROW }), "twelve signs");
    }

    #[test]
    fn colours_take_no_room_and_control_characters_are_shown() {
        let line = Line::default().then(Ink::Verdict(Verdict::Broken), "out\u{1b}[2Jside");
        assert_eq!(
            line.write(Style { columns: 8, color: true, ..NARROW }),
            "\u{1b}[1;31mout\\x1b\u{1b}[0m."
        );
    }

    #[test]
    fn what_stands_at_the_right_ends_in_the_last_column() {
        let line = Line::default().then(Ink::Plain, "ab").then_right(10, Ink::Plain, "yz");
        assert_eq!(line.write(NARROW), "ab      yz");
    }
}
