//! `assay-load`: parses the arguments, runs a generator, prints messages to stderr and the report
//! to stdout, and sets the exit code.
//!
//! Signals keep their default action: a generator changes nothing on the host that would have to be
//! restored, so that it can end at once.

use std::cell::Cell;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;
use std::sync::Mutex;

use assay_load::{Reporter, command, normalize_arguments, run};

fn main() -> ExitCode {
    let matches = match command().try_get_matches_from(normalize_arguments(std::env::args_os())) {
        Ok(matches) => matches,
        Err(error) => {
            // clap decides which of its messages are help (stdout, 0) and which are errors (2).
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let as_json = matches.subcommand().is_some_and(|(_, own)| own.get_flag("json"));
    let reporter =
        Stderr { line_open: Mutex::new(Cell::new(false)), terminal: stderr().is_terminal() };
    match run(&matches, &reporter) {
        Ok(report) => {
            let text = if as_json { format!("{:#}\n", report.json) } else { report.text };
            // A reader that has closed the pipe is not an error.
            let _ = stdout().lock().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(failure) => {
            reporter.line(&format!("error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Messages on stderr. Progress rewrites its line on a terminal and is omitted elsewhere, where
/// every step would become a line of a log.
struct Stderr {
    line_open: Mutex<Cell<bool>>,
    terminal: bool,
}

impl Reporter for Stderr {
    fn line(&self, line: &str) {
        if let Ok(open) = self.line_open.lock() {
            let begin = if open.replace(false) { "\r\x1b[K" } else { "" };
            let _ = writeln!(stderr().lock(), "{begin}{line}");
        }
    }

    fn progress(&self, what: &str, done: usize, all: usize) {
        if !self.terminal {
            return;
        }
        if let Ok(open) = self.line_open.lock() {
            open.set(true);
            let _ = write!(stderr().lock(), "\r\x1b[K{what} {done}/{all}");
            let _ = stderr().flush();
        }
    }
}
