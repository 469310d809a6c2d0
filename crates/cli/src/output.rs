//! The only place that prints: data to stdout, talk to stderr.

use std::borrow::Cow;
use std::io::{IsTerminal, Write, stderr, stdout};

use assay_escape::{painted, terminal};
use assay_report::{Style, ascii};

/// Data. A reader that has gone away (`assay studies | head`) is no error. What goes to a file or
/// a pipe is UTF-8 whatever the locale; a terminal gets what it can show. Neither gets what a
/// terminal would obey: what is piped into a pager or a log is seen on one later.
pub(crate) fn data(text: &str) {
    print(&terminal(text));
}

/// Data that `draw` makes with colours or without.
pub(crate) fn data_painted(draw: impl Fn(bool) -> String) {
    print(&painted(colors_data(), draw));
}

fn print(text: &str) {
    let mut out = stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = match out.is_terminal() && !is_utf8() {
        true => write!(out, "{}{end}", ascii(text)),
        false => write!(out, "{text}{end}"),
    };
}

/// Text from wherever, as a terminal may show it: for what is written there by other ways than these.
pub(crate) fn for_terminal(text: &str) -> String {
    let shown = terminal(text);
    if is_utf8() { shown.into_owned() } else { ascii(&shown) }
}

/// Talk: progress, remarks, errors.
pub(crate) fn say(text: &str) {
    put(&shown(text));
}

/// Talk that `draw` makes with colours or without.
pub(crate) fn say_painted(draw: impl Fn(bool) -> String) {
    put(&shown_painted(draw));
}

fn put(text: &str) {
    let _ = writeln!(stderr().lock(), "{}", text.trim_end());
}

/// Text from wherever, as stderr may show it.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    terminal(text)
}

/// What `draw` makes with colours or without, as stderr may show it.
pub(crate) fn shown_painted(draw: impl Fn(bool) -> String) -> String {
    painted(colors_talk(), draw)
}

/// An error, with the hint lines that its text may carry.
pub(crate) fn error(text: &dyn std::fmt::Display) {
    say(&format!("error: {text}"));
}

/// Whether stdout takes colours (no-color.org).
fn colors_data() -> bool {
    stdout().is_terminal() && wants_color()
}

/// Whether stderr takes colours.
fn colors_talk() -> bool {
    stderr().is_terminal() && wants_color()
}

/// Whether a picture can be drawn on stderr: a terminal that can move its cursor.
pub(crate) fn can_draw() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb");
    stderr().is_terminal() && !is_dumb
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// The size of the terminal behind stderr as it is now; the usual one where it does not say.
pub(crate) fn size() -> Size {
    let found = rustix::termios::tcgetwinsize(stderr()).ok();
    let found = found.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    found.map_or(Size { columns: 80, rows: 24 }, |size| Size {
        columns: usize::from(size.ws_col),
        rows: usize::from(size.ws_row),
    })
}

/// How pictures on stderr are written. The last column stays free, where terminals differ in
/// whether the cursor is still on the line; and so does the last row, for the line before.
pub(crate) fn style(size: Size) -> Style {
    Style {
        columns: size.columns.saturating_sub(1),
        rows: size.rows.saturating_sub(1),
        color: colors_talk(),
        unicode: is_utf8(),
    }
}

/// Whether the locale is one of UTF-8. The first of these that is set and not empty counts
/// (POSIX.1-2024, XBD 8.2).
fn is_utf8() -> bool {
    let set = |name: &&str| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_string_lossy().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
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
