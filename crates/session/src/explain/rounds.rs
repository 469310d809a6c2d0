//! The schedule of an explanation: as many rounds as needed to find a cause.

use assay_intervention::{Arm, Explanation, FRESH, Fresh};
use assay_plan::{Plan, RepeatId};
use assay_run_folder::Manifest;
use assay_runner::{Failure, NextRepeat, Schedule};

/// Rounds before the first look, and between two looks. Changes alternate forwards and backwards, so
/// that host drift favours none over an even number of rounds.
const LEAST: u32 = 4;
const EVERY: u32 = 2;

/// Rounds after which undecided changes stay undecided.
const MOST: u32 = 8;

/// Largest number of changes that are confirmed, one after the other.
const WINNERS: u32 = 2;

/// The number of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) least: u32,
    pub(super) most: u32,
}

impl Length {
    /// The requested number, or 4 to 8.
    pub(super) fn new(requested: Option<u32>) -> Self {
        match requested {
            Some(rounds) => Self { least: rounds, most: rounds },
            None => Self { least: LEAST, most: MOST },
        }
    }

    /// Largest number of looks.
    pub(super) const fn looks(self) -> usize {
        ((self.most - self.least) / EVERY + 1) as usize
    }

    /// Largest number of rounds, including those that confirm winners.
    pub(super) const fn with_fresh(self) -> u32 {
        self.most + WINNERS * FRESH as u32
    }

    /// Whether a look is due after this number of rounds.
    const fn is_look(self, rounds: u32) -> bool {
        rounds >= self.least && (rounds - self.least).is_multiple_of(EVERY)
    }
}

/// Evaluates the rounds so far, from the refusals by trial number and the fresh rounds.
pub(super) type Look<'a> = &'a dyn Fn(&[Option<String>], &[Fresh]) -> Option<Explanation>;

/// The rounds of an explanation. At each look the run ends if a cause is known; a decided change is not
/// repeated, and one that surely helps is confirmed by fresh rounds of it and the unchanged trial
/// alone.
pub(super) struct Rounds<'a> {
    plan: &'a Plan,
    length: Length,
    arms: &'a [Arm],
    look: Look<'a>,
    done: usize,
    /// Trials that are no longer repeated.
    retired: Vec<bool>,
    /// Why the host refused a trial during the run.
    refused: Vec<Option<String>>,
    /// Winners with their fresh rounds.
    fresh: Vec<Fresh>,
    /// The trial of the winner that is being confirmed, and the round after its last.
    confirming: Option<(usize, u32)>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(plan: &'a Plan, length: Length, arms: &'a [Arm], look: Look<'a>) -> Self {
        let trials = plan.trials.len();
        Self {
            plan,
            length,
            arms,
            look,
            done: 0,
            retired: vec![false; trials],
            refused: vec![None; trials],
            fresh: Vec::new(),
            confirming: None,
        }
    }

    /// Refusals by trial number, and the fresh rounds.
    pub(super) fn into_parts(self) -> (Vec<Option<String>>, Vec<Fresh>) {
        (self.refused, self.fresh)
    }

    /// Whether this repeat is the first of a round.
    fn opens_a_round(&self, slot: RepeatId) -> bool {
        let before = self.done.checked_sub(1).and_then(|before| self.plan.slots.get(before));
        before.is_some_and(|before| before.repeat != slot.repeat)
    }

    /// Takes a look before a round if one is due; returns whether the run is over.
    fn is_over_before(&mut self, round: u32) -> bool {
        if self.confirming.is_some_and(|(_, until)| round < until) {
            return false;
        }
        let was_confirming = self.confirming.take().is_some();
        let ordinary = round - (self.fresh.len() * FRESH) as u32;
        if !was_confirming && !self.length.is_look(ordinary) {
            return ordinary >= self.length.most;
        }
        let Some(explanation) = (self.look)(&self.refused, &self.fresh) else {
            return ordinary >= self.length.most;
        };
        if explanation.is_settled() {
            return true;
        }
        if self.begins_to_confirm(&explanation, round) {
            return false;
        }
        // Every arm except the first, the unchanged one, has a result.
        for (arm, result) in self.arms.iter().skip(1).zip(&explanation.arms) {
            if let Ok(trial) = arm.trial {
                self.retired[trial] |= !result.effect.may_change();
            }
        }
        ordinary >= self.length.most || self.retired.iter().skip(1).all(|retired| *retired)
    }

    /// Starts fresh rounds for the winner; returns whether there is one.
    fn begins_to_confirm(&mut self, explanation: &Explanation, round: u32) -> bool {
        let arm = explanation.winner().filter(|_| self.fresh.len() < WINNERS as usize);
        let Some(arm) = arm.and_then(|name| self.arms.iter().find(|arm| arm.name == name)) else {
            return false;
        };
        let Ok(trial) = arm.trial else { return false };
        // Rounds are counted from 0 here and from 1 in what is judged.
        self.fresh.push(Fresh { arm: arm.name.clone(), from: round as usize + 1 });
        self.confirming = Some((trial, round + FRESH as u32));
        true
    }

    /// Whether this trial takes part in the round.
    fn takes_part(&self, trial: usize) -> bool {
        match self.confirming {
            Some((winner, _)) => trial == 0 || trial == winner,
            None => !self.retired[trial],
        }
    }
}

impl Schedule for Rounds<'_> {
    fn next(&mut self, _: &Manifest) -> Option<NextRepeat<'_>> {
        loop {
            let slot = *self.plan.slots.get(self.done)?;
            if self.opens_a_round(slot) && self.is_over_before(slot.repeat) {
                return None;
            }
            self.done += 1;
            if self.takes_part(slot.trial) {
                return Some(NextRepeat { slot, trial: &self.plan.trials[slot.trial] });
            }
        }
    }

    fn continue_without(&mut self, slot: RepeatId, why: &Failure) -> bool {
        // Every change is compared with the unchanged trial.
        if slot.trial == 0 {
            return false;
        }
        self.retired[slot.trial] = true;
        self.refused[slot.trial] = Some(why.to_string());
        true
    }
}
