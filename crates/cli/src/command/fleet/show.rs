//! What is said while a fleet is at work: a line for each task that is somewhere else than before,
//! and on a terminal one that moves.

use assay_fleet::{TaskState, Watcher};
use assay_judge::HostState;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::talk;

pub(super) struct Lines {
    bar: ProgressBar,
}

impl Lines {
    pub(super) fn new(tasks: usize) -> Self {
        let all = u64::try_from(tasks).unwrap_or(u64::MAX);
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("hosts [{bar:24}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar }
    }

    /// Clears the moving line.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for Lines {
    fn task(&mut self, name: &str, state: &TaskState) {
        let code = state.record.as_ref().and_then(|record| record.code);
        let word = match (state.state, code) {
            (HostState::Waiting, _) => "waits".to_owned(),
            (HostState::Running, _) => "at work".to_owned(),
            (HostState::Ended, Some(code)) => format!("ended with exit code {code}"),
            (HostState::Ended, None) => "ended".to_owned(),
            (HostState::Lost, _) => "lost".to_owned(),
        };
        let why = state.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        self.bar.suspend(|| talk::say(&format!("{name}: {word}{why}")));
    }

    fn round(&mut self, states: &[TaskState]) {
        let count = |wanted: HostState| states.iter().filter(|one| one.state == wanted).count();
        let (ended, lost) = (count(HostState::Ended), count(HostState::Lost));
        self.bar.set_position(u64::try_from(ended + lost).unwrap_or(u64::MAX));
        self.bar.set_message(format!(
            "{} wait, {} at work, {ended} ended, {lost} lost",
            count(HostState::Waiting),
            count(HostState::Running)
        ));
    }

    fn remark(&mut self, text: &str) {
        self.bar.suspend(|| talk::say(text));
    }
}
