//! Progress on stderr: on a terminal a live view that is redrawn in place, elsewhere one line per
//! phase and trial.

mod line;
mod screen;
mod search;

use std::time::{Duration, Instant};

use assay_kernel::signal;
use assay_plan::{Plan, RepeatId};
use assay_report::{Clock, InterimResult, Live, Position, Style, trial_line};
use assay_run_folder::{Manifest, RunFolder, StopRecord, read_tables};
use assay_runner::Observer;
use assay_session::{Pace, SharedLook};
use assay_verdict::TrialJudgement;

use crate::output;
use screen::Screen;

pub(crate) use line::{Line, bar};
pub(crate) use search::SearchProgress;

/// Shortest time between two frames: enough for a clock that shows seconds.
const FRAME_INTERVAL: Duration = Duration::from_millis(200);

/// Shows the position in the run and the remaining time.
pub(crate) struct Progress {
    study: String,
    pace: Pace,
    factors: Vec<String>,
    ends_early: Vec<bool>,
    /// `None` if stderr is not a terminal that can be drawn on.
    screen: Option<Screen>,
    shared_look: SharedLook,
    current: Option<Current>,
    next_frame: Instant,
}

/// The current repeat and phase.
struct Current {
    slot: RepeatId,
    phase: String,
    clock: Clock,
}

impl Progress {
    /// Shows interim looks that are written to `shared_look`.
    pub(crate) fn new(study: &str, plan: &Plan, shared_look: SharedLook) -> Self {
        let factors = plan.trials.iter().map(|trial| {
            let named = trial.factors.iter().map(|(name, value)| format!("{name} = {value}"));
            named.collect::<Vec<_>>().join(", ")
        });
        let ends_early = plan.trials.iter().map(|trial| trial.stop == StopRecord::Precise);
        Self {
            study: study.to_owned(),
            pace: Pace::from_plan(plan),
            factors: factors.collect(),
            ends_early: ends_early.collect(),
            screen: output::can_draw().then(Screen::default),
            shared_look,
            current: None,
            next_frame: Instant::now(),
        }
    }

    /// Whether interim looks are shown.
    pub(crate) const fn shows_looks(&self) -> bool {
        self.screen.is_some()
    }

    /// Clears the live view.
    fn finish(&mut self) {
        let columns = output::size().columns;
        if let Some(screen) = &mut self.screen {
            screen.clear(columns);
        }
    }

    /// Draws a frame; unless `force`d, at most one per `FRAME_INTERVAL`.
    fn draw(&mut self, force: bool) {
        let now = Instant::now();
        let (Some(screen), Some(current)) = (&mut self.screen, &self.current) else { return };
        if !force && now < self.next_frame {
            return;
        }
        self.next_frame = now + FRAME_INTERVAL;
        let look = self.shared_look.borrow();
        let elapsed = match current.clock {
            Clock::Time { elapsed, .. } => elapsed,
            _ => Duration::ZERO,
        };
        let live = Live {
            study: &self.study,
            position: self.pace.position(current.slot),
            factors: &self.factors[current.slot.trial],
            phase: &current.phase,
            clock: current.clock,
            remaining: self.pace.remaining(current.slot, elapsed),
            ends_early: self.ends_early.iter().any(|early| *early),
            interim: look.as_ref().map(|(at, promises)| InterimResult { at: *at, promises }),
            stopping: signal::interrupted_by(),
        };
        let size = output::size();
        screen.draw(live.lines(output::style(size)), size.columns);
    }

    /// Prints a line that stays above the live view; `draw` makes it with or without colours.
    fn print_line(&mut self, draw: impl Fn(bool) -> String) {
        match &mut self.screen {
            Some(screen) => screen.above(&output::paint_for_stderr(draw), output::size().columns),
            None => output::message_painted(draw),
        }
    }

    /// Prints the result of a trial after its last repeat.
    fn print_trial(&mut self, slot: RepeatId, manifest: &Manifest, folder: &RunFolder) {
        if !self.pace.was_last(slot) || signal::interrupted_by().is_some() {
            return;
        }
        let Some(judgement) = judge_trial(slot.trial, manifest, folder) else { return };
        let Position { repeats, .. } = self.pace.position(slot);
        if judgement.repeats < repeats as usize {
            // The faults are reported at the end, with their reasons.
            return;
        }
        let position = self.pace.position(slot);
        let (factors, style) = (self.factors[slot.trial].clone(), output::style(output::size()));
        self.print_line(|color| {
            trial_line(position, &factors, &judgement, Style { color, ..style })
        });
    }
}

/// The judgement of one trial. Read errors are reported at the end of the run.
fn judge_trial(trial: usize, manifest: &Manifest, folder: &RunFolder) -> Option<TrialJudgement> {
    let repeats = &manifest.trials.get(trial)?.repeats;
    let tables = repeats.iter().map(|repeat| {
        read_tables(&folder.dir().proc_path().join("samples").join(&repeat.samples))
            .unwrap_or_default()
    });
    assay_judge::judge_one(manifest, trial, &tables.collect::<Vec<_>>())
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for Progress {
    fn phase(&mut self, slot: RepeatId, text: &str) {
        if self.current.as_ref().is_none_or(|current| current.slot != slot) {
            self.pace.begin();
            *self.shared_look.borrow_mut() = None;
        }
        self.current = Some(Current { slot, phase: text.to_owned(), clock: Clock::Unknown });
        match self.screen {
            Some(_) => self.draw(true),
            None => {
                let (number, all) = self.pace.number(slot);
                output::message(&format!("repeat {number}/{all}: {text}"));
            }
        }
    }

    fn progress(&mut self, done: f64) {
        if let Some(current) = &mut self.current {
            current.clock = Clock::Part(done.clamp(0.0, 1.0));
        }
        self.draw(false);
    }

    fn running(&mut self, slot: RepeatId, elapsed: Duration, of: Duration) {
        if let Some(current) = &mut self.current {
            (current.slot, current.clock) = (slot, Clock::Time { elapsed, of });
        }
        self.draw(false);
    }

    fn remark(&mut self, text: &str) {
        self.print_line(|_| text.to_owned());
    }

    fn ended(&mut self, slot: RepeatId, manifest: &Manifest, folder: &RunFolder) {
        let window = manifest.trials[slot.trial]
            .repeats
            .last()
            .map_or(0, |repeat| repeat.stopped_ns.saturating_sub(repeat.all_released_ns));
        self.pace.end(slot, Duration::from_nanos(window));
        self.print_trial(slot, manifest, folder);
    }

    fn restoring(&mut self) {
        if let Some(current) = &mut self.current {
            (current.phase, current.clock) = ("restore the host".to_owned(), Clock::Unknown);
        }
        self.draw(true);
    }
}
