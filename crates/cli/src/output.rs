//! All output of the program: data to stdout, messages to stderr.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::os::fd::AsFd;
use std::path::Path;

use assay_report::{Style, ascii};
use assay_sys::escape::{painted, terminal};
use assay_sys::exit::Error;

/// Prints data to stdout. A closed pipe (`assay studies | head`) is not an error. Files and pipes get
/// UTF-8 whatever the locale; a terminal gets what it can show. Control sequences are always escaped,
/// since text piped into a pager or a log ends up on a terminal later.
pub(crate) fn data(text: &str) {
    print(&terminal(text));
}

/// Prints a document as JSON.
pub(crate) fn json(document: &impl serde::Serialize) -> Result<(), Error> {
    data(&serde_json::to_string_pretty(document).map_err(Error::host)?);
    Ok(())
}

/// Writes a page to a file.
pub(crate) fn page(path: &Path, html: &str) -> Result<(), Error> {
    assay_sys::files::replace(path, html.as_bytes()).map_err(Error::host)
}

/// Prints the data that `draw` makes, with or without colours.
pub(crate) fn data_painted(draw: impl Fn(bool) -> String) {
    print(&painted(stdout_has_color(), draw));
}

fn print(text: &str) {
    let mut out = stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = match out.is_terminal() && !is_utf8() {
        true => write!(out, "{}{end}", ascii(text)),
        false => write!(out, "{text}{end}"),
    };
}

/// Untrusted text made safe for a terminal, for writers that bypass this module.
pub(crate) fn for_terminal(text: &str) -> String {
    let shown = terminal(text);
    if is_utf8() { shown.into_owned() } else { ascii(&shown) }
}

/// Prints a message to stderr: progress, remarks, errors.
pub(crate) fn message(text: &str) {
    put(&terminal(text));
}

/// Prints the message that `draw` makes, with or without colours.
pub(crate) fn message_painted(draw: impl Fn(bool) -> String) {
    put(&paint_for_stderr(draw));
}

fn put(text: &str) {
    let _ = writeln!(stderr().lock(), "{}", text.trim_end());
}

/// The text that `draw` makes, with or without colours, made safe for stderr.
pub(crate) fn paint_for_stderr(draw: impl Fn(bool) -> String) -> String {
    painted(stderr_has_color(), draw)
}

/// Prints an error with its hint lines, if any.
pub(crate) fn error(text: &dyn std::fmt::Display) {
    message(&format!("error: {text}"));
}

/// Whether stdout takes colours (no-color.org).
fn stdout_has_color() -> bool {
    stdout().is_terminal() && wants_color()
}

/// Whether stderr takes colours.
fn stderr_has_color() -> bool {
    stderr().is_terminal() && wants_color()
}

/// Whether the live view can be drawn on stderr: a terminal that can move its cursor.
pub(crate) fn can_draw() -> bool {
    stderr().is_terminal() && !is_dumb()
}

/// Whether terminals are said to be unable to move their cursors.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb")
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

/// The current size of the terminal behind stderr; 80 x 24 if unknown.
pub(crate) fn size() -> Size {
    size_of(stderr()).unwrap_or(Size { columns: 80, rows: 24 })
}

/// The size of the terminal behind a stream, if it is one.
pub(crate) fn size_of(stream: impl AsFd) -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0 && rows > 0).then_some(Size { columns, rows })
}

/// The style of the live view on stderr. The last column stays free, because terminals differ in
/// whether the cursor is still on the line; the last row stays free for the line above.
pub(crate) fn style(size: Size) -> Style {
    Style {
        columns: size.columns.saturating_sub(1),
        rows: size.rows.saturating_sub(1),
        color: stderr_has_color(),
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

/// Columns of the terminal behind stdout, or 100 if there is none.
pub(crate) fn width() -> usize {
    const USUAL: usize = 100;
    size_of(stdout()).map_or(USUAL, |size| size.columns)
}
