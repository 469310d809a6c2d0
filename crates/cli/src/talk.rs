//! The only place that prints: data to stdout, talk to stderr.

use std::io::{IsTerminal, Write, stderr, stdout};

/// Data. A reader that has gone away (`assay studies | head`) is no error.
pub(crate) fn data(text: &str) {
    let mut out = stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(out, "{text}{end}");
}

/// Talk: progress, remarks, errors.
pub(crate) fn say(text: &str) {
    let _ = writeln!(stderr().lock(), "{}", text.trim_end());
}

/// An error, with the hint lines that its text may carry.
pub(crate) fn error(text: &dyn std::fmt::Display) {
    say(&format!("error: {text}"));
}

/// Whether stdout takes colours (no-color.org).
pub(crate) fn colors_data() -> bool {
    stdout().is_terminal() && wants_color()
}

/// Whether stderr takes colours.
pub(crate) fn colors_talk() -> bool {
    stderr().is_terminal() && wants_color()
}

fn wants_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal behind stdout, or what fits on most when there is none.
pub(crate) fn width() -> usize {
    const USUAL: usize = 100;
    rustix::termios::tcgetwinsize(stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(USUAL)
}
