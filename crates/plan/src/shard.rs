//! A part of a plan's trials: what one host of a fleet runs when trials are divided over hosts.

use std::fmt;
use std::str::FromStr;

use assay_run_folder::ComparisonRecord;
use assay_study::Bindings;

use crate::order::Slot;
use crate::trial::{Plan, Trial};

/// Every `of`-th trial, beginning with the `number`-th (from 1), as `2/4`. All slices together
/// are all trials, and trials next to each other in the study go to different slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// The `index`-th of `of` slices, from 0.
    #[must_use]
    pub const fn nth(index: usize, of: usize) -> Self {
        Self { number: index % of + 1, of }
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is no slice; write `2/4` for the second of four");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let (number, of) = match (number.trim().parse(), of.trim().parse()) {
            (Ok(number), Ok(of)) => (number, of),
            _ => return Err(wrong()),
        };
        if number == 0 || number > of { Err(wrong()) } else { Ok(Self { number, of }) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Plan {
    /// What is promised of trials that run in different slices, if there are as many as of this one. It
    /// cannot be judged: slices run on different hosts, and what differs between these is no less
    /// different than what differs between levels.
    #[must_use]
    pub fn torn(&self, slice: Shard) -> Vec<ComparisonRecord> {
        let torn = |promise: &&ComparisonRecord| {
            let over = promise.is.over();
            let held = |trial: &Trial| -> Bindings {
                let held = trial.factors.iter().filter(|(name, _)| !over.contains(name));
                held.map(|(name, level)| (name.clone(), level.clone())).collect()
            };
            let mut slices: Vec<(Bindings, usize)> = Vec::new();
            self.trials.iter().enumerate().any(|(index, trial)| {
                let (held, own) = (held(trial), index % slice.of);
                let first =
                    slices.iter().find(|(known, _)| *known == held).map(|(_, first)| *first);
                slices.push((held, own));
                first.is_some_and(|first| first != own)
            })
        };
        self.comparisons.iter().filter(torn).cloned().collect()
    }

    /// The part of this plan that belongs to a slice, in the same order. What is promised across
    /// trials of other slices is left out ([`Plan::torn`]), with the numbers of others.
    #[must_use]
    pub fn slice(self, slice: Shard) -> Self {
        if slice.of == 1 {
            return self;
        }
        let torn = self.torn(slice);
        let has = |trial: usize| trial % slice.of == slice.number - 1;
        let place = |trial: usize| trial / slice.of;
        Self {
            slots: self
                .slots
                .iter()
                .filter(|slot| has(slot.trial))
                .map(|slot| Slot { trial: place(slot.trial), ..*slot })
                .collect(),
            trials: self
                .trials
                .into_iter()
                .enumerate()
                .filter(|(index, _)| has(*index))
                .map(|(_, trial)| trial)
                .collect(),
            comparisons: self.comparisons.into_iter().filter(|one| !torn.contains(one)).collect(),
            references: Vec::new(),
            refusals: self.refusals,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_study::{Order, Scalar};

    use super::*;
    use assay_run_folder::{AcrossRecord, PairsRecord};

    use crate::order::order;
    use crate::trial::empty_trial;

    fn trial(number: usize) -> Trial {
        let factors = BTreeMap::from([("n".to_owned(), Scalar::Text(number.to_string()))]);
        Trial { factors, ..empty_trial() }
    }

    fn plan(trials: usize) -> Plan {
        Plan {
            trials: (0..trials).map(trial).collect(),
            slots: order(trials, 2, Order::Random, 7),
            comparisons: Vec::new(),
            references: Vec::new(),
            refusals: Vec::new(),
        }
    }

    #[test]
    fn all_slices_together_are_all_repeats_of_all_trials() {
        let mut seen = BTreeMap::new();
        for index in 0..4 {
            let part = plan(10).slice(Shard::nth(index, 4));
            assert_eq!(part.slots.len(), part.trials.len() * 2);
            for slot in part.slots {
                let Scalar::Text(name) = &part.trials[slot.trial].factors["n"] else { panic!() };
                *seen.entry((name.clone(), slot.repeat)).or_insert(0) += 1;
            }
        }
        assert_eq!(seen.len(), 20);
        assert!(seen.values().all(|count| *count == 1));
        assert_eq!(plan(10).slice(Shard::nth(0, 1)), plan(10));
    }

    /// Two levels of `x` by three of `y`, `y` faster, and a promise over one of them.
    fn promised(over: &str) -> Plan {
        let trial = |number: usize| {
            let level =
                |name: &str, level: usize| (name.to_owned(), Scalar::Text(level.to_string()));
            let factors = [level("x", number / 3), level("y", number % 3)].into();
            Trial { factors, ..empty_trial() }
        };
        let is =
            AcrossRecord::Equal { over: over.to_owned(), pairs: PairsRecord::All, within: 0.1 };
        let measure = "io.bytes".to_owned();
        let promise = ComparisonRecord { measure, group: None, is, confidence: 0.95 };
        Plan { trials: (0..6).map(trial).collect(), comparisons: vec![promise], ..plan(0) }
    }

    #[test]
    fn a_promise_across_trials_of_one_slice_stays_with_them() {
        // Both levels of x of each y are three trials apart.
        for (over, slices, torn) in [("x", 3, 0), ("x", 2, 1), ("y", 3, 1), ("y", 1, 0)] {
            let slice = Shard::nth(0, slices);
            assert_eq!(promised(over).torn(slice).len(), torn, "{over}, {slices} slices");
            assert_eq!(promised(over).slice(slice).comparisons.len(), 1 - torn);
        }
    }

    #[test]
    fn slices_are_written_as_fractions() {
        assert_eq!("2/4".parse::<Shard>().unwrap(), Shard::nth(1, 4));
        assert_eq!(Shard::nth(5, 4).to_string(), "2/4");
        for wrong in ["", "2", "0/4", "5/4", "a/b", "1/0", "-1/2"] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("2/4"), "{wrong}");
        }
    }
}
