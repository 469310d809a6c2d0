//! Progress of a search: the setting being tried and the remaining time.

use std::time::{Duration, Instant};

use assay_record::run_folder::{Manifest, RunFolder};
use assay_study::plan::RepeatId;

use super::{LiveScreen, bar, draw_line};
use crate::observer::CurrentSetting;
use crate::runner::Observer;

/// Shows a search on a screen.
#[derive(Debug)]
pub struct SearchProgress<S> {
    screen: S,
    current: CurrentSetting,
    last_printed: String,
    phase: String,
    began: Instant,
    length: Duration,
}

impl<S: LiveScreen> SearchProgress<S> {
    /// Shows a search of this length; `current` names the setting being tried.
    pub fn new(screen: S, current: CurrentSetting, length: Duration) -> Self {
        let (last_printed, phase) = (String::new(), String::new());
        Self { screen, current, last_printed, phase, began: Instant::now(), length }
    }

    fn draw(&mut self) {
        let elapsed = self.began.elapsed();
        let done = elapsed.as_secs_f64() / self.length.as_secs_f64();
        let remaining = self.length.saturating_sub(elapsed).as_secs();
        let (name, phase) = (self.current.borrow(), &self.phase);
        let text = format!("{} about {remaining} s left  {name}: {phase}", bar(done));
        draw_line(&mut self.screen, &text);
    }
}

impl<S: LiveScreen> Observer for SearchProgress<S> {
    fn phase(&mut self, _: RepeatId, text: &str) {
        text.clone_into(&mut self.phase);
        let name = self.current.borrow().clone();
        if !self.screen.shows_frames() && self.last_printed != name {
            self.remark(&format!("{:4.0} s: {name}", self.began.elapsed().as_secs_f64()));
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
        self.screen.print(&|_| text.to_owned());
    }

    fn ended(&mut self, _: RepeatId, _: &Manifest, _: &RunFolder) {}

    fn restoring(&mut self) {
        "restore the host".clone_into(&mut self.phase);
        self.draw();
    }
}
