//! Where a run is among its repeats, and how long the rest of it takes.

use std::time::{Duration, Instant};

use assay_plan::{Plan, Slot};
use assay_report::Place;

/// The repeats of a run in their order, and what those that are over have taken.
#[derive(Debug)]
pub(super) struct Pace {
    slots: Vec<Slot>,
    at_most: Vec<Duration>,
    ended: Vec<Slot>,
    /// What the ended repeats took beside their windows: disks, layouts, starts and stops.
    beside: Duration,
    began: Instant,
}

impl Pace {
    pub(super) fn of(plan: &Plan) -> Self {
        let at_most = plan.trials.iter().map(|trial| trial.at_most).collect();
        Self::new(plan.slots.clone(), at_most)
    }

    fn new(slots: Vec<Slot>, at_most: Vec<Duration>) -> Self {
        Self { slots, at_most, ended: Vec::new(), beside: Duration::ZERO, began: Instant::now() }
    }

    /// A repeat begins now.
    pub(super) fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// It is over, and its window was this long.
    pub(super) fn end(&mut self, slot: Slot, window: Duration) {
        self.ended.push(slot);
        self.beside += self.began.elapsed().saturating_sub(window);
    }

    /// Which repeat of the run this is, from 1, and of how many.
    pub(super) fn number(&self, slot: Slot) -> (usize, usize) {
        (self.index(slot) + 1, self.slots.len())
    }

    fn index(&self, slot: Slot) -> usize {
        self.slots.iter().position(|known| *known == slot).unwrap_or(0)
    }

    /// The same in words of the study.
    pub(super) fn place(&self, slot: Slot) -> Place {
        let repeats = self.slots.iter().filter(|other| other.trial == slot.trial).count();
        Place {
            trial: slot.trial + 1,
            trials: self.at_most.len(),
            repeat: slot.repeat + 1,
            repeats: u32::try_from(repeats).unwrap_or(u32::MAX),
        }
    }

    /// Whether no repeat of the trial of this slot is still to come.
    pub(super) fn was_last(&self, slot: Slot) -> bool {
        self.slots
            .iter()
            .filter(|other| other.trial == slot.trial)
            .all(|own| self.ended.contains(own))
    }

    /// What is left when so much of this repeat's window has passed: the windows at their
    /// longest, and beside them what the repeats so far took on average.
    pub(super) fn left(&self, slot: Slot, elapsed: Duration) -> Duration {
        let after = &self.slots[(self.index(slot) + 1).min(self.slots.len())..];
        let windows: Duration = after.iter().map(|slot| self.at_most[slot.trial]).sum();
        let beside = match u32::try_from(self.ended.len()) {
            Ok(ended @ 1..) => (self.beside / ended).saturating_mul(after.len() as u32),
            _ => Duration::ZERO,
        };
        let own =
            if self.ended.contains(&slot) { Duration::ZERO } else { self.at_most[slot.trial] };
        own.saturating_sub(elapsed) + windows + beside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn slot(trial: usize, repeat: u32) -> Slot {
        Slot { trial, repeat }
    }

    fn pace() -> Pace {
        let slots = vec![slot(1, 0), slot(0, 0), slot(0, 1), slot(1, 1)];
        Pace::new(slots, vec![10 * SECOND, 20 * SECOND])
    }

    #[test]
    fn what_is_left_are_the_windows_that_are_to_come() {
        let pace = pace();
        assert_eq!(pace.left(slot(1, 0), 5 * SECOND), 55 * SECOND);
        assert_eq!(pace.left(slot(1, 1), 20 * SECOND), Duration::ZERO);
    }

    #[test]
    fn set_up_is_expected_to_take_what_it_took() {
        let mut pace = pace();
        pace.beside = 3 * SECOND;
        pace.ended.push(slot(1, 0));
        assert_eq!(pace.left(slot(0, 0), Duration::ZERO), (10 + 10 + 20 + 2 * 3) * SECOND);
    }

    #[test]
    fn a_trial_is_over_with_its_last_repeat_in_whatever_order() {
        let mut pace = pace();
        for (ended, over) in [(slot(1, 0), false), (slot(0, 0), false), (slot(0, 1), true)] {
            pace.end(ended, SECOND);
            assert_eq!(pace.was_last(ended), over, "{ended:?}");
        }
        let place = Place { trial: 2, trials: 2, repeat: 1, repeats: 2 };
        assert_eq!((pace.place(slot(1, 0)), pace.number(slot(1, 0))), (place, (1, 4)));
    }
}
