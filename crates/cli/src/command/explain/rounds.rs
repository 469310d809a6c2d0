//! The repeats of an explanation in their order: as many rounds as it takes, and no more.

use assay_intervention::{Explanation, FRESH, Fresh};
use assay_plan::{Plan, Slot};
use assay_run_folder::{Manifest, Run, RunFolder};
use assay_runner::{Failure, NextRepeat, Schedule};

use super::question::ExplainRequest;

/// Rounds before the first look, and between two: changes take turns forwards and backwards, so
/// that a drift of the host favours none over an even number of rounds.
const LEAST: u32 = 4;
const EVERY: u32 = 2;

/// Rounds after which what is open stays open.
const MOST: u32 = 8;

/// How many winners may be confirmed, one after the other.
const WINNERS: u32 = 2;

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
        ((self.most - self.least) / EVERY + 1) as usize
    }

    /// All rounds that there may be, those that confirm winners among them.
    pub(super) const fn with_fresh(self) -> u32 {
        self.most + WINNERS * FRESH as u32
    }

    /// Whether it is time for a look after so many rounds.
    const fn is_look(self, rounds: u32) -> bool {
        rounds >= self.least && (rounds - self.least).is_multiple_of(EVERY)
    }
}

/// The rounds of an explanation. At each look the run ends when a cause is known, a change that
/// is decided is not repeated, and one that surely helps is confirmed by fresh rounds of it and
/// the unchanged trial alone.
pub(super) struct Rounds<'a> {
    plan: &'a Plan,
    length: Length,
    folder: &'a RunFolder,
    asked: &'a ExplainRequest<'a>,
    done: usize,
    /// Trials that are not repeated any more.
    rest: Vec<bool>,
    /// Why the host would not have a trial after all.
    refused: Vec<Option<String>>,
    /// Winners with their fresh rounds.
    fresh: Vec<Fresh>,
    /// The trial of the winner that is being confirmed, and the round after its last.
    confirming: Option<(usize, u32)>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        length: Length,
        folder: &'a RunFolder,
        asked: &'a ExplainRequest<'a>,
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
            fresh: Vec::new(),
            confirming: None,
        }
    }

    /// Why the host would not have a trial after all, by the number of the trial; and the fresh
    /// rounds.
    pub(super) fn into_parts(self) -> (Vec<Option<String>>, Vec<Fresh>) {
        (self.refused, self.fresh)
    }

    /// Whether this repeat is the first of a round.
    fn opens_a_round(&self, slot: Slot) -> bool {
        let before = self.done.checked_sub(1).and_then(|before| self.plan.slots.get(before));
        before.is_some_and(|before| before.repeat != slot.repeat)
    }

    /// What is done before a round begins: whether the run is over.
    fn is_over_before(&mut self, round: u32) -> bool {
        if self.confirming.is_some_and(|(_, until)| round < until) {
            return false;
        }
        let was_confirming = self.confirming.take().is_some();
        let ordinary = round - (self.fresh.len() * FRESH) as u32;
        if !was_confirming && !self.length.is_look(ordinary) {
            return ordinary >= self.length.most;
        }
        let Some(found) = self.look() else { return ordinary >= self.length.most };
        if found.is_settled() {
            return true;
        }
        if self.begins_to_confirm(&found, round) {
            return false;
        }
        // Every arm but the first, which is unchanged, has a result.
        for (arm, result) in self.asked.arms.iter().skip(1).zip(&found.arms) {
            if let Ok(trial) = arm.trial {
                self.rest[trial] |= !result.effect.may_change();
            }
        }
        ordinary >= self.length.most || self.rest.iter().skip(1).all(|rest| *rest)
    }

    fn begins_to_confirm(&mut self, found: &Explanation, round: u32) -> bool {
        let arm = found.winner().filter(|_| self.fresh.len() < WINNERS as usize);
        let arms = &self.asked.arms;
        let Some(arm) = arm.and_then(|name| arms.iter().find(|arm| arm.name == name)) else {
            return false;
        };
        let Ok(trial) = arm.trial else { return false };
        // Rounds are counted from 0 here and from 1 in what is judged.
        self.fresh.push(Fresh { arm: arm.name.clone(), from: round as usize + 1 });
        self.confirming = Some((trial, round + FRESH as u32));
        true
    }

    /// Looks at what there is. What cannot be read is not known.
    fn look(&self) -> Option<Explanation> {
        let run = Run::of(self.folder).ok()?;
        let judgement = assay_judge::judge_so_far(&run.manifest, &run.samples);
        self.asked.answer(&judgement, &self.refused, &self.fresh)
    }

    /// Whether this trial takes part in the round.
    fn takes_part(&self, trial: usize) -> bool {
        match self.confirming {
            Some((winner, _)) => trial == 0 || trial == winner,
            None => !self.rest[trial],
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
