//! Progress of a run: a live view where frames are shown, elsewhere one line per phase and trial.

use std::time::{Duration, Instant};

use assay_judge::verdict::TrialJudgement;
use assay_record::run_folder::{Manifest, RunFolder, StopRecord, read_tables};
use assay_report::{Clock, Live, Style, trial_line};
use assay_study::plan::{Plan, RepeatId};
use assay_sys::kernel::signal;

use super::LiveScreen;
use crate::pace::Pace;
use crate::runner::Observer;

/// Shortest time between two frames: enough for a clock that shows seconds.
const FRAME_INTERVAL: Duration = Duration::from_millis(200);

/// Shows the position in a run and its remaining time on a screen.
#[derive(Debug)]
pub struct RunProgress<S> {
    study: String,
    pace: Pace,
    factors: Vec<String>,
    ends_early: bool,
    screen: S,
    current: Option<Current>,
    next_frame: Instant,
}

/// The current repeat and phase.
#[derive(Debug)]
struct Current {
    slot: RepeatId,
    phase: String,
    clock: Clock,
}

impl<S: LiveScreen> RunProgress<S> {
    /// Shows a run of this plan.
    pub fn new(screen: S, study: &str, plan: &Plan) -> Self {
        let factors = plan.trials.iter().map(|trial| {
            let named = trial.factors.iter().map(|(name, value)| format!("{name} = {value}"));
            named.collect::<Vec<_>>().join(", ")
        });
        Self {
            study: study.to_owned(),
            pace: Pace::from_plan(plan),
            factors: factors.collect(),
            ends_early: plan.trials.iter().any(|trial| trial.stop == StopRecord::Decided),
            screen,
            current: None,
            next_frame: Instant::now(),
        }
    }

    /// Draws a frame; unless `force`d, at most one per `FRAME_INTERVAL`.
    fn draw(&mut self, force: bool) {
        let now = Instant::now();
        let Some(current) = &self.current else { return };
        if !self.screen.shows_frames() || (!force && now < self.next_frame) {
            return;
        }
        self.next_frame = now + FRAME_INTERVAL;
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
            ends_early: self.ends_early,
            stopping: signal::interrupted_by(),
        };
        self.screen.draw(&|style| live.lines(style));
    }

    /// Prints the result of a trial after its last repeat. A trial with failed repeats is left out: they
    /// are reported at the end, with their reasons.
    fn print_trial(&mut self, slot: RepeatId, manifest: &Manifest, folder: &RunFolder) {
        if !self.pace.was_last(slot) || signal::interrupted_by().is_some() {
            return;
        }
        let Some(judgement) = judge_trial(slot.trial, manifest, folder) else { return };
        let position = self.pace.position(slot);
        if judgement.repeats >= position.repeats as usize {
            let factors = &self.factors[slot.trial];
            let line = |style: Style| trial_line(position, factors, &judgement, style);
            self.screen.print(&line);
        }
    }
}

/// The judgement of one trial. Read errors are reported at the end of the run.
fn judge_trial(trial: usize, manifest: &Manifest, folder: &RunFolder) -> Option<TrialJudgement> {
    let samples = folder.dir().proc_path().join("samples");
    let repeats = &manifest.trials.get(trial)?.repeats;
    let tables = repeats.iter().map(|one| read_tables(&samples.join(&one.samples)));
    let tables: Vec<_> = tables.map(Result::unwrap_or_default).collect();
    assay_judge::judge_one(manifest, trial, &tables)
}

impl<S: LiveScreen> Observer for RunProgress<S> {
    fn phase(&mut self, slot: RepeatId, text: &str) {
        if self.current.as_ref().is_none_or(|current| current.slot != slot) {
            self.pace.begin();
        }
        self.current = Some(Current { slot, phase: text.to_owned(), clock: Clock::Unknown });
        if !self.screen.shows_frames() {
            let (number, all) = self.pace.number(slot);
            self.remark(&format!("repeat {number}/{all}: {text}"));
        }
        self.draw(true);
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
        self.screen.print(&|_| text.to_owned());
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
