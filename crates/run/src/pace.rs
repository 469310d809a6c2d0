//! The position of a run among its repeats, and its remaining time.

use std::time::{Duration, Instant};

use assay_report::Position;
use assay_study::plan::{Plan, RepeatId};

/// The repeats of a run in order, and the time that the ended ones took.
#[derive(Debug)]
pub struct Pace {
    slots: Vec<RepeatId>,
    at_most: Vec<Duration>,
    ended: Vec<RepeatId>,
    /// Time of the ended repeats outside their windows: disks, layouts, starts and stops.
    overhead: Duration,
    began: Instant,
}

impl Pace {
    /// The repeats of a plan, none of which has ended.
    #[must_use]
    pub fn from_plan(plan: &Plan) -> Self {
        let at_most = plan.trials.iter().map(|trial| trial.at_most).collect();
        Self::new(plan.slots.clone(), at_most)
    }

    fn new(slots: Vec<RepeatId>, at_most: Vec<Duration>) -> Self {
        Self { slots, at_most, ended: Vec::new(), overhead: Duration::ZERO, began: Instant::now() }
    }

    /// Notes the start of a repeat.
    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// Notes the end of a repeat with a window of this length.
    pub fn end(&mut self, slot: RepeatId, window: Duration) {
        self.ended.push(slot);
        self.overhead += self.began.elapsed().saturating_sub(window);
    }

    /// The number of the repeat in the run, from 1, and the number of all.
    #[must_use]
    pub fn number(&self, slot: RepeatId) -> (usize, usize) {
        (self.index(slot) + 1, self.slots.len())
    }

    fn index(&self, slot: RepeatId) -> usize {
        self.slots.iter().position(|known| *known == slot).unwrap_or(0)
    }

    /// The trial and repeat of the slot, from 1.
    #[must_use]
    pub fn position(&self, slot: RepeatId) -> Position {
        let repeats = self.slots.iter().filter(|other| other.trial == slot.trial).count();
        Position {
            trial: slot.trial + 1,
            trials: self.at_most.len(),
            repeat: slot.repeat + 1,
            repeats: u32::try_from(repeats).unwrap_or(u32::MAX),
        }
    }

    /// Whether all repeats of this slot's trial have ended.
    #[must_use]
    pub fn was_last(&self, slot: RepeatId) -> bool {
        self.slots
            .iter()
            .filter(|other| other.trial == slot.trial)
            .all(|own| self.ended.contains(own))
    }

    /// Remaining time when `elapsed` of this repeat's window has passed: the windows at their
    /// longest, and the average overhead of the repeats so far.
    #[must_use]
    pub fn remaining(&self, slot: RepeatId, elapsed: Duration) -> Duration {
        let after = &self.slots[(self.index(slot) + 1).min(self.slots.len())..];
        let windows: Duration = after.iter().map(|slot| self.at_most[slot.trial]).sum();
        let overhead = match u32::try_from(self.ended.len()) {
            Ok(ended @ 1..) => (self.overhead / ended).saturating_mul(after.len() as u32),
            _ => Duration::ZERO,
        };
        let own =
            if self.ended.contains(&slot) { Duration::ZERO } else { self.at_most[slot.trial] };
        own.saturating_sub(elapsed) + windows + overhead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn slot(trial: usize, repeat: u32) -> RepeatId {
        RepeatId { trial, repeat }
    }

    fn pace() -> Pace {
        let slots = vec![slot(1, 0), slot(0, 0), slot(0, 1), slot(1, 1)];
        Pace::new(slots, vec![10 * SECOND, 20 * SECOND])
    }

    #[test]
    fn the_remaining_windows_count() {
        let pace = pace();
        assert_eq!(pace.remaining(slot(1, 0), 5 * SECOND), 55 * SECOND);
        assert_eq!(pace.remaining(slot(1, 1), 20 * SECOND), Duration::ZERO);
    }

    #[test]
    fn later_repeats_are_expected_to_have_the_average_overhead() {
        let mut pace = pace();
        pace.overhead = 3 * SECOND;
        pace.ended.push(slot(1, 0));
        assert_eq!(pace.remaining(slot(0, 0), Duration::ZERO), (10 + 10 + 20 + 2 * 3) * SECOND);
    }

    #[test]
    fn a_trial_ends_with_its_last_repeat_in_any_order() {
        let mut pace = pace();
        for (ended, over) in [(slot(1, 0), false), (slot(0, 0), false), (slot(0, 1), true)] {
            pace.end(ended, SECOND);
            assert_eq!(pace.was_last(ended), over, "{ended:?}");
        }
        let position = Position { trial: 2, trials: 2, repeat: 1, repeats: 2 };
        assert_eq!((pace.position(slot(1, 0)), pace.number(slot(1, 0))), (position, (1, 4)));
    }
}
