//! The log of a run with filebench's time stamps. Each line also goes to the reporter while the run
//! goes on.

use std::time::Instant;

use crate::output::Reporter;

pub(super) struct Log<'t> {
    began: Instant,
    text: String,
    reporter: &'t dyn Reporter,
}

impl<'t> Log<'t> {
    /// Starts with the version, as filebench does.
    pub(super) fn begin(reporter: &'t dyn Reporter) -> Self {
        let text = format!("Filebench Version {}\n", super::VERSION);
        Self { began: Instant::now(), text, reporter }
    }

    pub(super) fn reporter(&self) -> &'t dyn Reporter {
        self.reporter
    }

    fn stamped(&self, line: &str) -> String {
        format!("{:4.3}: {line}", self.began.elapsed().as_secs_f64())
    }

    /// A line that is also reported at once.
    pub(super) fn line(&mut self, line: &str) {
        let line = self.stamped(line);
        self.reporter.line(&line);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// A line that appears only in the result.
    pub(super) fn record(&mut self, line: &str) {
        let line = self.stamped(line);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// Output of a command, unchanged.
    pub(super) fn verbatim(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
