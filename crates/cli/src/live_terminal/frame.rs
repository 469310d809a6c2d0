//! Lines at the end of a terminal's output that are redrawn in place.
//!
//! The cursor stays at the end of the last line, so that the next frame overwrites the `^C` that a
//! terminal echoes. No state of the terminal is changed that a killed program would leave behind: no
//! hidden cursor, no alternate screen, no raw mode.

use crate::output::to_stderr;

/// The frame at the end of the terminal.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// The lines of the last frame.
    drawn: Vec<String>,
    /// Columns of the terminal when the frame was drawn.
    columns: usize,
}

impl Frame {
    /// Replaces the last frame by these lines. An unchanged frame is not written again.
    pub(crate) fn draw(&mut self, lines: Vec<String>, columns: usize) {
        if lines == self.drawn && columns == self.columns {
            return;
        }
        to_stderr(&frame(&self.drawn, &lines, columns));
        (self.drawn, self.columns) = (lines, columns);
    }

    /// Writes a line that stays above the frame. The text must be safe for a terminal.
    pub(crate) fn above(&mut self, text: &str, columns: usize) {
        let lines = std::mem::take(&mut self.drawn);
        to_stderr(&format!(
            "{}{}\r\n",
            frame(&lines, &[], columns),
            text.trim_end().replace('\n', "\r\n")
        ));
        if !lines.is_empty() {
            self.draw(lines, columns);
        }
    }

    /// Clears the frame; the cursor returns to where it was before the first one.
    pub(crate) fn clear(&mut self, columns: usize) {
        if !self.drawn.is_empty() {
            to_stderr(&frame(&self.drawn, &[], columns));
            self.drawn.clear();
        }
    }
}

/// Writes in one piece, so that a terminal never shows half a frame. A terminal that has gone away
/// does not end a run.
/// The text that turns the old lines into the new ones. Each line is overwritten and then cleared to
/// its end, so that unchanged parts do not flicker.
fn frame(old: &[String], new: &[String], columns: usize) -> String {
    let mut text = String::from("\r");
    let up = rows(old, columns).saturating_sub(1);
    if up > 0 {
        text.push_str(&format!("\u{1b}[{up}A"));
    }
    for (index, line) in new.iter().enumerate() {
        let next = if index == 0 { "" } else { "\r\n" };
        text.push_str(&format!("{next}{line}\u{1b}[K"));
    }
    // Clear the remaining lines of the old frame.
    text.push_str("\u{1b}[J");
    text
}

/// Rows that the lines take on a terminal of this width: a terminal that has become narrower wraps
/// longer lines.
fn rows(lines: &[String], columns: usize) -> usize {
    lines.iter().map(|line| width(line).div_ceil(columns.max(1)).max(1)).sum()
}

/// Columns of a line without its colour sequences.
fn width(line: &str) -> usize {
    let mut in_colour = false;
    let mut columns = 0;
    for sign in line.chars() {
        match sign {
            '\u{1b}' => in_colour = true,
            'm' if in_colour => in_colour = false,
            _ if in_colour => {}
            _ => columns += 1,
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// The contents of a terminal after these frames, without empty rows at its end.
    fn show(columns: u16, frames: &[&str]) -> Vec<String> {
        let size = |count| NonZeroU16::new(count).unwrap();
        let mut terminal = vt100::Parser::new(size(20), size(columns), 0);
        for frame in frames {
            terminal.process(frame.as_bytes());
        }
        terminal.screen().contents().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_frame_replaces_the_previous_one() {
        let (one, two) = (lines(&["first", "second"]), lines(&["1st", "2nd", "third"]));
        let shown = show(80, &["before\r\n", &frame(&[], &one, 80), &frame(&one, &two, 80)]);
        assert_eq!(shown, ["before", "1st", "2nd", "third"]);
        let shown = show(80, &[&frame(&[], &two, 80), &frame(&two, &one, 80)]);
        assert_eq!(shown, ["first", "second"]);
    }

    #[test]
    fn clearing_removes_the_whole_frame() {
        let one = lines(&["first", "second"]);
        let shown = show(80, &["before\r\n", &frame(&[], &one, 80), &frame(&one, &[], 80)]);
        assert_eq!(shown, ["before"]);
    }

    #[test]
    fn wrapped_lines_count_as_several_rows() {
        let one = lines(&["\u{1b}[1;31m0123456789\u{1b}[0m", "", "01234"]);
        assert_eq!(rows(&one, 80), 3);
        assert_eq!(rows(&one, 5), 4);
        assert_eq!(rows(&one, 4), 6);
        assert!(frame(&one, &[], 4).starts_with("\r\u{1b}[5A"));
    }
}
