//! Progress of a search on stderr: what is tried, and how much of the time is gone.

use std::time::{Duration, Instant};

use assay_engine::Observer;
use assay_plan::Slot;
use assay_record::{Manifest, RunFolder};

use super::tour::Shown;
use crate::progress::Screen;
use crate::talk;

/// Cells of the bar.
const BAR: usize = 24;

/// Shows what is being tried.
pub(super) struct Progress {
    /// `None` where stderr is no terminal that a line can be drawn on.
    screen: Option<Screen>,
    shown: Shown,
    said: String,
    phase: String,
    began: Instant,
    length: Duration,
}

impl Progress {
    pub(super) fn new(shown: Shown, length: Duration) -> Self {
        Self {
            screen: talk::can_draw().then(Screen::default),
            shown,
            said: String::new(),
            phase: String::new(),
            began: Instant::now(),
            length,
        }
    }

    /// Clears the moving line.
    pub(super) fn finish(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.clear(talk::size().columns);
        }
    }

    fn draw(&mut self) {
        let Some(screen) = &mut self.screen else { return };
        let gone = self.began.elapsed();
        let part = (gone.as_secs_f64() / self.length.as_secs_f64()).clamp(0.0, 1.0);
        let full = "=".repeat((part * BAR as f64) as usize);
        let left = self.length.saturating_sub(gone).as_secs();
        let (name, columns) = (self.shown.borrow(), talk::size().columns);
        let line = format!("[{full:<BAR$}] about {left} s left  {name}: {}", self.phase);
        // What does not fit is what is said last.
        screen.draw(vec![line.chars().take(columns.saturating_sub(1)).collect()], columns);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for Progress {
    fn phase(&mut self, _: Slot, text: &str) {
        text.clone_into(&mut self.phase);
        let name = self.shown.borrow().clone();
        if self.screen.is_none() && self.said != name {
            talk::say(&format!("{:4.0} s: {name}", self.began.elapsed().as_secs_f64()));
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
        match &mut self.screen {
            Some(screen) => screen.above(text, talk::size().columns),
            None => talk::say(text),
        }
    }

    fn ended(&mut self, _: Slot, _: &Manifest, _: &RunFolder) {}

    fn putting_back(&mut self) {
        "put the host back".clone_into(&mut self.phase);
        self.draw();
    }
}
