//! Progress of a search on stderr: the setting being tried and the elapsed time.

use std::time::{Duration, Instant};

use assay_plan::RepeatId;
use assay_run_folder::{Manifest, RunFolder};
use assay_runner::Observer;
use assay_session::CurrentSetting;

use super::{Line, bar};

/// Shows the setting being tried.
pub(crate) struct SearchProgress {
    line: Line,
    current: CurrentSetting,
    last_printed: String,
    phase: String,
    began: Instant,
    length: Duration,
}

impl SearchProgress {
    pub(crate) fn new(current: CurrentSetting, length: Duration) -> Self {
        Self {
            line: Line::new(),
            current,
            last_printed: String::new(),
            phase: String::new(),
            began: Instant::now(),
            length,
        }
    }

    fn draw(&mut self) {
        let elapsed = self.began.elapsed();
        let done = elapsed.as_secs_f64() / self.length.as_secs_f64();
        let remaining = self.length.saturating_sub(elapsed).as_secs();
        let name = self.current.borrow().clone();
        self.line.draw(&format!(
            "{} about {remaining} s left  {name}: {}",
            bar(done, 24),
            self.phase
        ));
    }
}

impl Observer for SearchProgress {
    fn phase(&mut self, _: RepeatId, text: &str) {
        text.clone_into(&mut self.phase);
        let name = self.current.borrow().clone();
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
