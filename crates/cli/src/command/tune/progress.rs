//! Progress of a search on stderr: what is tried, and how much of the time is gone.

use std::time::{Duration, Instant};

use assay_engine::Observer;
use assay_plan::Slot;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::tour::Shown;
use crate::talk;

/// Shows what is being tried.
pub(super) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    shown: Shown,
    said: String,
    began: Instant,
    length: Duration,
}

impl Progress {
    pub(super) fn new(shown: Shown, length: Duration) -> Self {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:24}] {prefix}") {
            bar.set_style(style.progress_chars("=> "));
        }
        let began = Instant::now();
        Self { bar, is_terminal, shown, said: String::new(), began, length }
    }

    /// Clears the moving line.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn tell_time(&self) {
        let gone = self.began.elapsed();
        let part = gone.as_secs_f64() / self.length.as_secs_f64();
        self.bar.set_position((part.clamp(0.0, 1.0) * 1000.0) as u64);
        let left = self.length.saturating_sub(gone).as_secs();
        self.bar.set_prefix(format!("about {left} s left"));
    }
}

impl Observer for Progress {
    fn phase(&mut self, _: Slot, text: &str) {
        let name = self.shown.borrow().clone();
        if self.is_terminal {
            self.bar.set_message(format!("{name}: {text}"));
            self.tell_time();
        } else if self.said != name {
            talk::say(&format!("{:4.0} s: {name}", self.began.elapsed().as_secs_f64()));
            self.said = name;
        }
    }

    fn progress(&mut self, _: f64) {
        self.tell_time();
    }

    fn running(&mut self, _: Slot, _: Duration, _: Duration) {
        self.tell_time();
    }

    fn remark(&mut self, text: &str) {
        self.bar.suspend(|| talk::say(text));
    }
}
