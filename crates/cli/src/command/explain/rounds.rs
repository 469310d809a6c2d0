//! The repeats of an explanation in their order: as many rounds as it takes, and no more.

use assay_engine::{Course, Failure, Turn};
use assay_plan::{Plan, Slot};
use assay_record::{Manifest, Run, RunFolder};

use super::asked::Asked;

/// Rounds before the first look. Student's t needs as much of a scatter.
const LEAST: u32 = 3;

/// Rounds after which what is open stays open.
const MOST: u32 = 8;

/// How many rounds there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) least: u32,
    pub(super) most: u32,
}

impl Length {
    /// As many as were asked for, or as it takes.
    pub(super) fn of(asked: Option<u32>) -> Self {
        match asked {
            Some(rounds) => Self { least: rounds, most: rounds },
            None => Self { least: LEAST, most: MOST },
        }
    }

    /// How often the rounds may be looked at.
    pub(super) const fn looks(self) -> usize {
        (self.most - self.least + 1) as usize
    }
}

/// The rounds of an explanation. After each that may be the last, what is known of every change is
/// looked at: the run ends when a cause is known, and a change that is decided is not repeated.
pub(super) struct Rounds<'a> {
    plan: &'a Plan,
    length: Length,
    folder: &'a RunFolder,
    asked: &'a Asked<'a>,
    done: usize,
    /// Trials that are not repeated any more.
    rest: Vec<bool>,
    /// Why the host would not have a trial after all.
    refused: Vec<Option<String>>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        length: Length,
        folder: &'a RunFolder,
        asked: &'a Asked<'a>,
    ) -> Self {
        let trials = plan.trials.len();
        Self {
            plan,
            length,
            folder,
            asked,
            done: 0,
            rest: vec![false; trials],
            refused: vec![None; trials],
        }
    }

    /// Why the host would not have a trial after all, by the number of the trial.
    pub(super) fn refused(self) -> Vec<Option<String>> {
        self.refused
    }

    /// Whether this repeat is the first of a round before which the run may end.
    fn opens_a_round(&self, slot: Slot) -> bool {
        let before = self.done.checked_sub(1).and_then(|before| self.plan.slots.get(before));
        let new = before.is_some_and(|before| before.repeat != slot.repeat);
        new && slot.repeat >= self.length.least
    }

    /// Looks at what there is: whether the run is over. What cannot be read is not known.
    fn is_over(&mut self) -> bool {
        let Ok(run) = Run::load(self.folder.path()) else { return false };
        let judgement = assay_judge::judge(&run.manifest, &run.samples);
        let Some(found) = self.asked.answer(&judgement, &self.refused) else { return false };
        if found.is_settled() {
            return true;
        }
        // Every arm but the first, which is unchanged, has a result.
        for (arm, result) in self.asked.arms.iter().skip(1).zip(&found.arms) {
            if let Ok(trial) = arm.trial {
                self.rest[trial] |= !result.effect.may_change();
            }
        }
        self.rest.iter().skip(1).all(|rest| *rest)
    }
}

impl Course for Rounds<'_> {
    fn next(&mut self, _: &Manifest) -> Option<Turn<'_>> {
        loop {
            let slot = *self.plan.slots.get(self.done)?;
            if self.opens_a_round(slot) && self.is_over() {
                return None;
            }
            self.done += 1;
            if !self.rest[slot.trial] {
                return Some(Turn { slot, trial: &self.plan.trials[slot.trial] });
            }
        }
    }

    fn goes_on_without(&mut self, slot: Slot, why: &Failure) -> bool {
        // Without the unchanged trial there is nothing to compare with.
        if slot.trial == 0 {
            return false;
        }
        self.rest[slot.trial] = true;
        self.refused[slot.trial] = Some(why.to_string());
        true
    }
}
