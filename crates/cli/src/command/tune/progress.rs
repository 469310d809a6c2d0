//! Progress of a search on stderr: what is tried, and how much of the time is gone.

use std::time::{Duration, Instant};

use assay_plan::Slot;
use assay_run_folder::{Manifest, RunFolder};
use assay_runner::Observer;

use super::search_schedule::Shown;
use crate::progress::{Line, bar};

/// Shows what is being tried.
pub(super) struct Progress {
    line: Line,
    shown: Shown,
    said: String,
    phase: String,
    began: Instant,
    length: Duration,
}

impl Progress {
    pub(super) fn new(shown: Shown, length: Duration) -> Self {
        Self {
            line: Line::new(),
            shown,
            said: String::new(),
            phase: String::new(),
            began: Instant::now(),
            length,
        }
    }

    /// Clears the moving line.
    pub(super) fn finish(&mut self) {
        self.line.finish();
    }

    fn draw(&mut self) {
        let gone = self.began.elapsed();
        let done = gone.as_secs_f64() / self.length.as_secs_f64();
        let left = self.length.saturating_sub(gone).as_secs();
        let name = self.shown.borrow().clone();
        self.line.draw(&format!("{} about {left} s left  {name}: {}", bar(done, 24), self.phase));
    }
}

impl Observer for Progress {
    fn phase(&mut self, _: Slot, text: &str) {
        text.clone_into(&mut self.phase);
        let name = self.shown.borrow().clone();
        if !self.line.moves() && self.said != name {
            self.line.say(&format!("{:4.0} s: {name}", self.began.elapsed().as_secs_f64()));
            self.said = name;
        }
        self.draw();
    }

    fn progress(&mut self, _: f64) {
        self.draw();
    }

    fn running(&mut self, _: Slot, _: Duration, _: Duration) {
        self.draw();
    }

    fn remark(&mut self, text: &str) {
        self.line.say(text);
    }

    fn ended(&mut self, _: Slot, _: &Manifest, _: &RunFolder) {}

    fn putting_back(&mut self) {
        "restore the host".clone_into(&mut self.phase);
        self.draw();
    }
}
