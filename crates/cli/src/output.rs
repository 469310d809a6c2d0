//! All output of the program: data to stdout, messages to stderr.

use std::io::{ErrorKind, IsTerminal, Write, stderr, stdin, stdout};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use assay_judge::verdict::RunErrors;
use assay_report::{Style, ascii};
use assay_sys::escape::{painted, terminal};
use assay_sys::exit::Error;
use assay_sys::kernel::stream::{write_data, write_message};
use clap::Args;

use crate::parsers::one_of;

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

pub(crate) const COLORS: [(&str, Color, &str); 3] = [
    ("auto", Color::Auto, "On terminals"),
    ("always", Color::Always, ""),
    ("never", Color::Never, ""),
];

/// What the command line says of all output.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct OutputArguments {
    /// Use colours: auto, always or never
    #[arg(long, global = true, display_order = 900, value_name = "WHEN", default_value = "auto", hide_default_value = true, hide_possible_values = true, value_parser = one_of(&COLORS))]
    color: Color,
    /// Print data and errors only
    #[arg(short, long, global = true, display_order = 900)]
    quiet: bool,
}

static SETTINGS: OnceLock<OutputArguments> = OnceLock::new();

/// Sets them, once, before anything is printed.
pub(crate) fn set(settings: OutputArguments) {
    let _ = SETTINGS.set(settings);
}

fn settings() -> OutputArguments {
    SETTINGS.get().copied().unwrap_or_default()
}

/// Whether the command line asks for JSON.
pub(crate) fn is_json() -> bool {
    let words: Vec<String> = std::env::args().take_while(|word| word != "--").collect();
    let is_option = |pair: &[String]| matches!(&*pair[0], "-o" | "--format") && pair[1] == "json";
    words.windows(2).any(is_option)
        || words.iter().any(|word| word == "-ojson" || word == "--format=json")
}

/// Prints an error as a document, for programs that asked for JSON.
pub(crate) fn json_error(code: i32, errors: Vec<String>) {
    if is_json() && !errors.is_empty() {
        let _ = json(&RunErrors { schema: RunErrors::SCHEMA, code, errors });
    }
}

/// Prints data to stdout. A closed pipe (`assay run --list | head`) is not an error. Files and pipes get
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
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let text = match stdout().is_terminal() && !is_utf8() {
        true => ascii(text) + end,
        false => format!("{text}{end}"),
    };
    // What would follow a gap would hide it.
    if LOST.get().is_none() {
        reached(write_data(stdout(), text.as_bytes()));
    }
}

/// Why data are missing on stdout.
static LOST: OnceLock<String> = OnceLock::new();

/// Whether data have reached stdout. If not, the command fails at its end, unless their reader had enough.
pub(crate) fn reached(written: std::io::Result<()>) -> bool {
    let Err(cause) = written else { return true };
    if cause.kind() != ErrorKind::BrokenPipe {
        let _ = LOST.set(cause.to_string());
    }
    false
}

/// Whether data are missing on stdout; the reason is printed.
pub(crate) fn has_lost_data() -> bool {
    let why = LOST.get();
    if let Some(why) = why {
        error(&format!("cannot write all data to stdout: {why}"));
    }
    why.is_some()
}

/// Untrusted text made safe for a terminal, for writers that bypass this module.
pub(crate) fn for_terminal(text: &str) -> String {
    let shown = terminal(text);
    if is_utf8() { shown.into_owned() } else { ascii(&shown) }
}

/// Prints a message to stderr: progress and remarks, which `--quiet` leaves out.
pub(crate) fn message(text: &str) {
    if !settings().quiet {
        urgent(text);
    }
}

/// Prints a message to stderr that is never left out.
pub(crate) fn urgent(text: &str) {
    put(&terminal(text));
}

/// Whether somebody can be asked.
pub(crate) fn can_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Whether the user agrees to what is said.
pub(crate) fn ask(what: &str) -> bool {
    to_stderr(&format!("{}\nGo on? [y/N] ", for_terminal(what)));
    let mut answer = String::new();
    let _ = stdin().read_line(&mut answer);
    matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Prints the message that `draw` makes, with or without colours.
pub(crate) fn message_painted(draw: impl Fn(bool) -> String) {
    if !settings().quiet {
        urgent_painted(draw);
    }
}

/// Prints the message that `draw` makes, which is never left out.
pub(crate) fn urgent_painted(draw: impl Fn(bool) -> String) {
    put(&paint_for_stderr(draw));
}

fn put(text: &str) {
    to_stderr(&format!("{}\n", text.trim_end()));
}

/// Writes to stderr what is left out if nobody reads there: it must not hold up what restores the host.
pub(crate) fn to_stderr(text: &str) {
    const PATIENCE: Duration = Duration::from_millis(200);
    static UNREAD: AtomicU64 = AtomicU64::new(0);
    let mut err = stderr().lock();
    let _ = err.flush();
    let unread = UNREAD.load(Ordering::Relaxed);
    let (patience, text) = match unread {
        0 => (PATIENCE, text.to_owned()),
        _ => (
            Duration::ZERO,
            format!("\r\n({unread} messages left out: nobody read them)\r\n{text}"),
        ),
    };
    match write_message(&err, text.as_bytes(), patience) {
        Err(cause) if cause.kind() == ErrorKind::TimedOut => {
            UNREAD.store(unread + 1, Ordering::Relaxed);
        }
        _ => UNREAD.store(0, Ordering::Relaxed),
    }
}

/// The text that `draw` makes, with or without colours, made safe for stderr.
pub(crate) fn paint_for_stderr(draw: impl Fn(bool) -> String) -> String {
    painted(stderr_has_color(), draw)
}

/// Prints an error with its hint lines, if any.
pub(crate) fn error(text: &dyn std::fmt::Display) {
    urgent(&format!("error: {text}"));
}

/// Prints what clap found wrong. It calls advice a tip, and everything else here a hint.
pub(crate) fn usage_error(text: &clap::builder::StyledStr) {
    let text = if stderr_has_color() { text.ansi().to_string() } else { text.to_string() };
    let advice = |line: &str| line.starts_with(' ') && line.contains("tip:");
    let lines = text.trim_end().lines().map(|line| match advice(line) {
        true => line.replacen("tip:", "hint:", 1),
        false => line.to_owned(),
    });
    put(&lines.collect::<Vec<_>>().join("\n"));
}

/// Whether stdout takes colours (no-color.org).
fn stdout_has_color() -> bool {
    wants_color(stdout().is_terminal())
}

/// Whether stderr takes colours.
fn stderr_has_color() -> bool {
    wants_color(stderr().is_terminal())
}

/// Whether the live view can be drawn on stderr: a terminal that can move its cursor.
pub(crate) fn can_draw() -> bool {
    stderr().is_terminal() && !is_dumb() && !settings().quiet
}

/// Whether terminals are said to be unable to move their cursors.
fn is_dumb() -> bool {
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

fn wants_color(is_terminal: bool) -> bool {
    match settings().color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
}

/// Columns of the terminal behind stdout, or 100 if there is none.
pub(crate) fn width() -> usize {
    const USUAL: usize = 100;
    size_of(stdout()).map_or(USUAL, |size| size.columns)
}
