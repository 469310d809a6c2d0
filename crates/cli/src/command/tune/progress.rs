//! Progress of a search on stderr: the setting being tried and the elapsed time.

use std::time::{Duration, Instant};

use assay_plan::RepeatId;
use assay_run_folder::{Manifest, RunFolder};
use assay_runner::Observer;

use super::search_schedule::SharedLabel;
use crate::progress::{Line, bar};

/// Shows the setting being tried.
pub(super) struct Progress {
    line: Line,
    label: SharedLabel,
    last_printed: String,
    phase: String,
    began: Instant,
    length: Duration,
}

impl Progress {
    pub(super) fn new(label: SharedLabel, length: Duration) -> Self {
        Self {
            line: Line::new(),
            label,
            last_printed: String::new(),
            phase: String::new(),
            began: Instant::now(),
            length,
        }
    }

    /// Clears the progress line.
    pub(super) fn finish(&mut self) {
        self.line.finish();
    }

    fn draw(&mut self) {
        let elapsed = self.began.elapsed();
        let done = elapsed.as_secs_f64() / self.length.as_secs_f64();
        let remaining = self.length.saturating_sub(elapsed).as_secs();
        let name = self.label.borrow().clone();
        self.line.draw(&format!(
            "{} about {remaining} s left  {name}: {}",
            bar(done, 24),
            self.phase
        ));
    }
}

impl Observer for Progress {
    fn phase(&mut self, _: RepeatId, text: &str) {
        text.clone_into(&mut self.phase);
        let name = self.label.borrow().clone();
        if !self.line.is_shown() && self.last_printed != name {
            self.line.print(&format!("{:4.0} s: {name}", self.began.elapsed().as_secs_f64()));
            self.last_printed = name;
        }
        self.draw();
    }

    fn progress(&mut self, _: f64) {
        self.draw();
    }

    fn running(&mut self, _: RepeatId, _: Duration, _: Duration) {
        self.draw();
    }

    fn remark(&mut self, text: &str) {
        self.line.print(text);
    }

    fn ended(&mut self, _: RepeatId, _: &Manifest, _: &RunFolder) {}

    fn restoring(&mut self) {
        "restore the host".clone_into(&mut self.phase);
        self.draw();
    }
}
