//! Progress of a fleet: a line for each task whose state changed, and a frame with the counts.

use assay_fleet::{TaskState, Watcher};
use assay_verdict::HostState;

use super::{LiveScreen, bar, draw_line};

/// Shows the tasks of a fleet on a screen.
#[derive(Debug)]
pub struct FleetProgress<S>(S);

impl<S: LiveScreen> FleetProgress<S> {
    /// Shows them on this screen.
    pub const fn new(screen: S) -> Self {
        Self(screen)
    }
}

impl<S: LiveScreen> Watcher for FleetProgress<S> {
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
        self.remark(&format!("{name}: {word}{why}"));
    }

    fn round(&mut self, states: &[TaskState]) {
        let count = |state: HostState| states.iter().filter(|one| one.state == state).count();
        let (ended, lost) = (count(HostState::Ended), count(HostState::Lost));
        let done = (ended + lost) as f64 / states.len().max(1) as f64;
        let text = format!(
            "hosts {} {} waiting, {} running, {ended} ended, {lost} lost",
            bar(done),
            count(HostState::Waiting),
            count(HostState::Running)
        );
        draw_line(&mut self.0, &text);
    }

    fn remark(&mut self, text: &str) {
        self.0.print(&|_| text.to_owned());
    }
}
