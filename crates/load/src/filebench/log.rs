//! What a run has said so far, with filebench's time before each line; each line also goes to
//! whoever listens while the run goes on.

use std::time::Instant;

use crate::output::Reporter;

pub(super) struct Log<'t> {
    began: Instant,
    text: String,
    talk: &'t dyn Reporter,
}

impl<'t> Log<'t> {
    /// Begins with the version, as filebench does.
    pub(super) fn begin(talk: &'t dyn Reporter) -> Self {
        let text = format!("Filebench Version {}\n", super::VERSION);
        Self { began: Instant::now(), text, talk }
    }

    pub(super) fn talk(&self) -> &'t dyn Reporter {
        self.talk
    }

    fn stamped(&self, line: &str) -> String {
        format!("{:4.3}: {line}", self.began.elapsed().as_secs_f64())
    }

    /// A line, told at once.
    pub(super) fn line(&mut self, line: &str) {
        let line = self.stamped(line);
        self.talk.say(&line);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// A line that is only in the result.
    pub(super) fn quiet(&mut self, line: &str) {
        let line = self.stamped(line);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// Output of a command, as it is.
    pub(super) fn verbatim(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
