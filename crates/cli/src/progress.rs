//! Progress on stderr: on a terminal a picture of the run that is drawn anew in place, elsewhere
//! a line a phase and a trial.

mod line;
mod pace;
mod screen;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use assay_kernel::signal;
use assay_plan::{Plan, Slot};
use assay_report::{Clock, Live, Place, Seen, Style, trial_line};
use assay_run_folder::{Manifest, RunFolder, StopRecord, read_tables};
use assay_runner::Observer;
use assay_verdict::{PromiseJudgement, TrialJudgement};

use crate::output;
use pace::Pace;
use screen::Screen;

pub(crate) use line::{Line, bar};

/// A picture is drawn this often at most: often enough for a clock of seconds.
const BETWEEN: Duration = Duration::from_millis(200);

/// The last look at the repeat that runs, shared by who looks and who shows.
#[derive(Debug, Default)]
pub(crate) struct Board {
    /// When the look was taken and what it has shown.
    pub(crate) seen: Option<(Duration, Vec<PromiseJudgement>)>,
}

/// Shows where a run is and how long it still takes.
pub(crate) struct Progress {
    study: String,
    pace: Pace,
    factors: Vec<String>,
    ends_early: Vec<bool>,
    /// `None` where stderr is no terminal that a picture can be drawn on.
    screen: Option<Screen>,
    board: Rc<RefCell<Board>>,
    here: Option<Here>,
    next: Instant,
}

/// What is done at the moment.
struct Here {
    slot: Slot,
    phase: String,
    clock: Clock,
}

impl Progress {
    pub(crate) fn new(study: &str, plan: &Plan) -> Self {
        let factors = plan.trials.iter().map(|trial| {
            let named = trial.factors.iter().map(|(name, value)| format!("{name} = {value}"));
            named.collect::<Vec<_>>().join(", ")
        });
        let ends_early = plan.trials.iter().map(|trial| trial.stop == StopRecord::Precise);
        Self {
            study: study.to_owned(),
            pace: Pace::of(plan),
            factors: factors.collect(),
            ends_early: ends_early.collect(),
            screen: output::can_draw().then(Screen::default),
            board: Rc::default(),
            here: None,
            next: Instant::now(),
        }
    }

    /// Where looks are to be written, if anybody shows them.
    pub(crate) fn board(&self) -> Option<Rc<RefCell<Board>>> {
        self.screen.as_ref().map(|_| Rc::clone(&self.board))
    }

    /// Takes the picture away.
    pub(crate) fn finish(&mut self) {
        let columns = output::size().columns;
        if let Some(screen) = &mut self.screen {
            screen.clear(columns);
        }
    }

    /// Draws, unless that was just done.
    fn draw(&mut self, at_once: bool) {
        let now = Instant::now();
        let (Some(screen), Some(here)) = (&mut self.screen, &self.here) else { return };
        if !at_once && now < self.next {
            return;
        }
        self.next = now + BETWEEN;
        let board = self.board.borrow();
        let elapsed = match here.clock {
            Clock::Time { elapsed, .. } => elapsed,
            _ => Duration::ZERO,
        };
        let live = Live {
            study: &self.study,
            place: self.pace.place(here.slot),
            factors: &self.factors[here.slot.trial],
            phase: &here.phase,
            clock: here.clock,
            left: self.pace.left(here.slot, elapsed),
            ends_early: self.ends_early.iter().any(|early| *early),
            seen: board.seen.as_ref().map(|(at, promises)| Seen { at: *at, promises }),
            stopping: signal::interrupted_by(),
        };
        let size = output::size();
        screen.draw(live.lines(output::style(size)), size.columns);
    }

    /// A line that stays, which `draw` makes with colours or without.
    fn say(&mut self, draw: impl Fn(bool) -> String) {
        match &mut self.screen {
            Some(screen) => screen.above(&output::shown_painted(draw), output::size().columns),
            None => output::say_painted(draw),
        }
    }

    /// What a trial came to, once its last repeat is over.
    fn tell_trial(&mut self, slot: Slot, manifest: &Manifest, folder: &RunFolder) {
        if !self.pace.was_last(slot) || signal::interrupted_by().is_some() {
            return;
        }
        let Some(judged) = judge_trial(slot.trial, manifest, folder) else { return };
        let Place { repeats, .. } = self.pace.place(slot);
        if judged.repeats < repeats as usize {
            // Its faults are told at the end, with their reasons.
            return;
        }
        let place = self.pace.place(slot);
        let (factors, style) = (self.factors[slot.trial].clone(), output::style(output::size()));
        self.say(|color| trial_line(place, &factors, &judged, Style { color, ..style }));
    }
}

/// The judgement of one trial. What cannot be read is told at the end of the run.
fn judge_trial(trial: usize, manifest: &Manifest, folder: &RunFolder) -> Option<TrialJudgement> {
    let repeats = &manifest.trials.get(trial)?.repeats;
    let tables = repeats.iter().map(|repeat| {
        read_tables(&folder.dir().here().join("samples").join(&repeat.samples)).unwrap_or_default()
    });
    assay_judge::judge_one(manifest, trial, &tables.collect::<Vec<_>>())
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for Progress {
    fn phase(&mut self, slot: Slot, text: &str) {
        if self.here.as_ref().is_none_or(|here| here.slot != slot) {
            self.pace.begin();
            self.board.borrow_mut().seen = None;
        }
        self.here = Some(Here { slot, phase: text.to_owned(), clock: Clock::Unknown });
        match self.screen {
            Some(_) => self.draw(true),
            None => {
                let (here, all) = self.pace.number(slot);
                output::say(&format!("repeat {here}/{all}: {text}"));
            }
        }
    }

    fn progress(&mut self, done: f64) {
        if let Some(here) = &mut self.here {
            here.clock = Clock::Part(done.clamp(0.0, 1.0));
        }
        self.draw(false);
    }

    fn running(&mut self, slot: Slot, elapsed: Duration, of: Duration) {
        if let Some(here) = &mut self.here {
            (here.slot, here.clock) = (slot, Clock::Time { elapsed, of });
        }
        self.draw(false);
    }

    fn remark(&mut self, text: &str) {
        self.say(|_| text.to_owned());
    }

    fn ended(&mut self, slot: Slot, manifest: &Manifest, folder: &RunFolder) {
        let window = manifest.trials[slot.trial]
            .repeats
            .last()
            .map_or(0, |repeat| repeat.stopped_ns.saturating_sub(repeat.all_released_ns));
        self.pace.end(slot, Duration::from_nanos(window));
        self.tell_trial(slot, manifest, folder);
    }

    fn putting_back(&mut self) {
        if let Some(here) = &mut self.here {
            (here.phase, here.clock) = ("restore the host".to_owned(), Clock::Unknown);
        }
        self.draw(true);
    }
}
