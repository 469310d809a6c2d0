//! Progress on stderr: a line that moves on a terminal, a line a phase elsewhere.

use std::time::Duration;

use assay_engine::Observer;
use assay_plan::{Plan, Slot};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::talk;

/// Shows where a run is and how long it still takes.
pub(crate) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    slots: Vec<Slot>,
    at_most: Vec<Duration>,
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Self {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:24}] {prefix}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self {
            bar,
            is_terminal,
            slots: plan.slots.clone(),
            at_most: plan.trials.iter().map(|trial| trial.at_most).collect(),
        }
    }

    /// Clears the moving line.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Time that the repeats after this one take, set-up not counted.
    fn after(&self, slot: Slot) -> Duration {
        let here = self.slots.iter().position(|known| *known == slot).unwrap_or(0);
        self.slots[here + 1..].iter().map(|slot| self.at_most[slot.trial]).sum()
    }

    fn place(&self, slot: Slot) -> String {
        let here = self.slots.iter().position(|known| *known == slot).map_or(0, |at| at + 1);
        format!("{here}/{}", self.slots.len())
    }
}

impl Observer for Progress {
    fn phase(&mut self, slot: Slot, text: &str) {
        let message = format!("repeat {}: {text}", self.place(slot));
        if self.is_terminal {
            self.bar.set_position(0);
            self.bar.set_message(message);
            let rest = self.after(slot) + self.at_most[slot.trial];
            self.bar.set_prefix(format!("about {} s left", rest.as_secs()));
        } else {
            talk::say(&message);
        }
    }

    fn progress(&mut self, done: f64) {
        self.bar.set_position((done.clamp(0.0, 1.0) * 1000.0) as u64);
    }

    fn running(&mut self, slot: Slot, elapsed: Duration, of: Duration) {
        self.progress(elapsed.as_secs_f64() / of.as_secs_f64());
        let rest = self.after(slot) + of.saturating_sub(elapsed);
        self.bar.set_prefix(format!("{} s left", rest.as_secs()));
    }

    fn remark(&mut self, text: &str) {
        self.bar.suspend(|| talk::say(text));
    }
}
