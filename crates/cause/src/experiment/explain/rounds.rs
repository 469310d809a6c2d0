//! The schedule of an explanation: as many rounds as needed to find a cause.

use assay_record::run_folder::Manifest;
use assay_run::runner::{Failure, NextRepeat, Schedule};
use assay_study::plan::{Plan, RepeatId};

use crate::{Arm, Explanation, FRESH, Fresh};

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

/// Evaluates the rounds so far, from the arms and the fresh rounds.
pub(super) type Look<'a> = &'a dyn Fn(&[Arm], &[Fresh]) -> Option<Explanation>;

/// The rounds of an explanation. At each look the run ends if a cause is known; a decided change is not
/// repeated, and one that surely helps is confirmed by fresh rounds of it and the unchanged trial
/// alone.
pub(super) struct Rounds<'a> {
    plan: &'a Plan,
    length: Length,
    /// Those that the host refused during the run have the reason in place of a trial.
    arms: Vec<Arm>,
    look: Look<'a>,
    done: usize,
    /// Trials that are no longer repeated.
    retired: Vec<bool>,
    /// Winners with their fresh rounds.
    fresh: Vec<Fresh>,
    /// The trial of the winner that is being confirmed, and the round after its last.
    confirming: Option<(usize, u32)>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(plan: &'a Plan, length: Length, arms: Vec<Arm>, look: Look<'a>) -> Self {
        let retired = vec![false; plan.trials.len()];
        Self { plan, length, arms, look, done: 0, retired, fresh: Vec::new(), confirming: None }
    }

    /// The arms, and the fresh rounds.
    pub(super) fn into_parts(self) -> (Vec<Arm>, Vec<Fresh>) {
        (self.arms, self.fresh)
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
        let Some(explanation) = (self.look)(&self.arms, &self.fresh) else {
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
        let refused = self.arms.iter_mut().find(|arm| arm.trial == Ok(slot.trial));
        if let Some(arm) = refused {
            arm.trial = Err(why.to_string());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use assay_judge::verdict::Verdict;
    use assay_run::load::load;
    use assay_run::overrides::StudyChoice;
    use assay_study::plan::Trial;
    use assay_test_support::hosts::host;

    use super::*;
    use crate::{ArmResult, CauseFinding, Effect, Finding};

    const HELPS: &str = "helps";
    const OTHER: &str = "other";

    fn arms() -> Vec<Arm> {
        let named = [("unchanged", ""), (HELPS, "C-HELPED"), (OTHER, "C-OTHER")];
        let arm = |(trial, (name, code)): (usize, &(&str, &str))| Arm {
            name: (*name).to_owned(),
            change: (*name).to_owned(),
            remedy: None,
            tests: if code.is_empty() { Vec::new() } else { vec![(*code).to_owned()] },
            times: 1.0,
            trial: Ok(trial),
        };
        named.iter().enumerate().map(arm).collect()
    }

    fn plan() -> Plan {
        let choice =
            StudyChoice { set: vec!["groups=4".to_owned()], ..StudyChoice::named("io-weight") };
        let trial = assay_study::plan::plan(&load(&choice).unwrap().study, &host(false), 1)
            .trials
            .remove(0);
        let arms = arms().into_iter().map(|arm| (arm.name, trial.clone()));
        assay_study::plan::interleave(
            arms.collect::<Vec<(String, Trial)>>(),
            Length::new(None).with_fresh(),
        )
    }

    /// An explanation in which each change has this effect.
    fn explanation(effects: [Effect; 2], confirmed: Option<bool>) -> Explanation {
        let left = crate::Rounds { rounds: 4, left: 0.2, low: 0.1, high: 0.3, within: 0 };
        let result = |arm: &Arm, effect: Effect| ArmResult {
            name: arm.name.clone(),
            change: arm.change.clone(),
            effect,
            repeats: 4,
            error: None,
            rounds: Some(left),
            confirmed: confirmed.filter(|_| arm.name == HELPS),
            groups_within: None,
            throughput: None,
            predicted: String::new(),
            predictions: Vec::new(),
            tests: arm.tests.clone(),
            reason: String::new(),
        };
        let arms = arms();
        let finding = if confirmed == Some(true) { Finding::Confirmed } else { Finding::Open };
        Explanation {
            schema: 1,
            study: "io-weight".to_owned(),
            measure: "io.bytes".to_owned(),
            within: 0.1,
            repeats: 4,
            unchanged: None,
            verdict: Verdict::Broken,
            arms: vec![result(&arms[1], effects[0]), result(&arms[2], effects[1])],
            causes: vec![CauseFinding {
                code: "C-HELPED".to_owned(),
                finding,
                evidence: Vec::new(),
            }],
            follows: None,
            sentence: String::new(),
        }
    }

    /// The trials of each round until the schedule ends.
    fn rounds_with(look: Look<'_>) -> Vec<Vec<usize>> {
        let plan = plan();
        let manifest =
            assay_record::run_folder::Run::load(&crate::replay::fault("one-cpu")).unwrap().manifest;
        let mut rounds = Rounds::new(&plan, Length::new(None), arms(), look);
        let mut all: Vec<Vec<usize>> = Vec::new();
        while let Some(next) = rounds.next(&manifest) {
            all.resize(next.slot.repeat as usize + 1, Vec::new());
            all[next.slot.repeat as usize].push(next.slot.trial);
        }
        all
    }

    #[test]
    fn undecided_changes_are_repeated_in_alternating_order_to_the_last_round() {
        let looks = std::cell::Cell::new(0);
        let all = rounds_with(&|_, _| {
            looks.set(looks.get() + 1);
            Some(explanation([Effect::Open, Effect::Open], None))
        });
        assert_eq!(all.len(), MOST as usize);
        assert_eq!((&all[0], &all[1]), (&vec![0, 1, 2], &vec![2, 1, 0]));
        assert_eq!(looks.get(), Length::new(None).looks());
    }

    #[test]
    fn a_run_that_cannot_be_read_does_not_end_before_its_last_round() {
        assert_eq!(rounds_with(&|_, _| None).len(), MOST as usize);
    }

    #[test]
    fn a_decided_change_is_not_repeated_and_without_any_left_the_run_ends() {
        let all = rounds_with(&|_, _| Some(explanation([Effect::Unmoved, Effect::Open], None)));
        assert!(all[4..].iter().all(|round| !round.contains(&1) && round.contains(&2)), "{all:?}");
        let all = rounds_with(&|_, _| Some(explanation([Effect::Unmoved, Effect::Worsened], None)));
        assert_eq!(all.len(), LEAST as usize);
    }

    #[test]
    fn a_winner_gets_fresh_rounds_with_the_unchanged_trial_alone() {
        let seen = std::cell::RefCell::new(Vec::new());
        let all = rounds_with(&|_, fresh: &[Fresh]| {
            seen.borrow_mut().push(fresh.to_vec());
            let confirmed = if fresh.is_empty() { None } else { Some(true) };
            Some(explanation([Effect::Cured, Effect::Open], confirmed))
        });
        assert_eq!(all.len(), LEAST as usize + FRESH, "a confirmed cause ends the run");
        assert!(
            all[LEAST as usize..].iter().flatten().all(|trial| [0, 1].contains(trial)),
            "{all:?}"
        );
        // The first fresh round follows the last ordinary one, counted from 1.
        let fresh = Fresh { arm: HELPS.to_owned(), from: LEAST as usize + 1 };
        assert_eq!(*seen.borrow(), [vec![], vec![fresh]]);
    }

    #[test]
    fn an_effect_that_does_not_recur_leads_back_to_ordinary_rounds() {
        let all = rounds_with(&|_, fresh: &[Fresh]| {
            Some(match fresh {
                [] => explanation([Effect::Cured, Effect::Open], None),
                _ => explanation([Effect::Open, Effect::Open], Some(false)),
            })
        });
        assert_eq!(all.len(), MOST as usize + FRESH);
        assert_eq!(all[LEAST as usize + FRESH].len(), 3, "{all:?}");
    }

    #[test]
    fn a_refused_change_is_left_out_but_the_unchanged_trial_is_needed() {
        let plan = plan();
        let look = |_: &[Arm], _: &[Fresh]| None;
        let mut rounds = Rounds::new(&plan, Length::new(Some(2)), arms(), &look);
        let why = Failure::Host({
            let cause = std::io::Error::other("refused");
            assay_sys::kernel::Error::new("write", "/sys/x".as_ref(), &cause)
        });
        assert!(!rounds.continue_without(RepeatId { trial: 0, repeat: 0 }, &why));
        assert!(rounds.continue_without(RepeatId { trial: 1, repeat: 0 }, &why));
        let manifest =
            assay_record::run_folder::Run::load(&crate::replay::fault("one-cpu")).unwrap().manifest;
        let mut trials = Vec::new();
        while let Some(next) = rounds.next(&manifest) {
            trials.push(next.slot.trial);
        }
        assert_eq!(trials, [0, 2, 2, 0]);
        let (arms, _) = rounds.into_parts();
        assert!(arms[1].trial.as_ref().is_err_and(|why| why.contains("refused")), "{arms:?}");
    }
}
