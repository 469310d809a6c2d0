//! Progress of a fleet: one line for each task whose state changed, and on a terminal a progress line.

use assay_fleet::{TaskState, Watcher};
use assay_verdict::HostState;

use crate::progress::{Line, bar};

pub(super) struct Lines {
    line: Line,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self { line: Line::new() }
    }

    /// Clears the progress line.
    pub(super) fn finish(&mut self) {
        self.line.finish();
    }
}

impl Watcher for Lines {
    fn task(&mut self, name: &str, state: &TaskState) {
        let code = state.record.as_ref().and_then(|record| record.code);
        let word = match (state.state, code) {
            (HostState::Waiting, _) => "waiting".to_owned(),
            (HostState::Running, _) => "running".to_owned(),
            (HostState::Ended, Some(code)) => format!("ended with exit code {code}"),
            (HostState::Ended, None) => "ended".to_owned(),
            (HostState::Lost, _) => "lost".to_owned(),
        };
        let why = state.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        self.line.print(&format!("{name}: {word}{why}"));
    }

    fn round(&mut self, states: &[TaskState]) {
        let count = |state: HostState| states.iter().filter(|one| one.state == state).count();
        let (ended, lost) = (count(HostState::Ended), count(HostState::Lost));
        let done = (ended + lost) as f64 / states.len().max(1) as f64;
        self.line.draw(&format!(
            "hosts {} {} waiting, {} running, {ended} ended, {lost} lost",
            bar(done, 24),
            count(HostState::Waiting),
            count(HostState::Running)
        ));
    }

    fn remark(&mut self, text: &str) {
        self.line.print(text);
    }
}
