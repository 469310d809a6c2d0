//! A shard of a plan: the trials that one host of a fleet runs if trials are divided among hosts.

use std::fmt;
use std::str::FromStr;

use assay_run_folder::ComparisonRecord;
use assay_study::Bindings;

use crate::order::RepeatId;
use crate::trial::{Plan, Trial};

/// Every `of`-th trial, beginning with the `number`-th (from 1), written as `2/4`. All shards
/// together are all trials, and neighbouring trials of the study are in different shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// The `index`-th of `of` shards, from 0.
    #[must_use]
    pub const fn nth(index: usize, of: usize) -> Self {
        Self { number: index % of + 1, of }
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || format!("invalid shard `{text}`; write `2/4` for the second of four");
        let (number, of) = text.split_once('/').ok_or_else(error)?;
        let (number, of) = match (number.trim().parse(), of.trim().parse()) {
            (Ok(number), Ok(of)) => (number, of),
            _ => return Err(error()),
        };
        if number == 0 || number > of { Err(error()) } else { Ok(Self { number, of }) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl Plan {
    /// The cross-trial promises whose trials are in different shards, if there are as many shards
    /// as of this one. They cannot be judged: shards run on different hosts, and differences
    /// between hosts are no smaller than those between levels.
    #[must_use]
    pub fn split_comparisons(&self, shard: Shard) -> Vec<ComparisonRecord> {
        let is_split = |promise: &&ComparisonRecord| {
            let over = promise.is.over();
            let held = |trial: &Trial| -> Bindings {
                let held = trial.factors.iter().filter(|(name, _)| !over.contains(name));
                held.map(|(name, level)| (name.clone(), level.clone())).collect()
            };
            let mut shards: Vec<(Bindings, usize)> = Vec::new();
            self.trials.iter().enumerate().any(|(index, trial)| {
                let (held, own) = (held(trial), index % shard.of);
                let first =
                    shards.iter().find(|(known, _)| *known == held).map(|(_, first)| *first);
                shards.push((held, own));
                first.is_some_and(|first| first != own)
            })
        };
        self.comparisons.iter().filter(is_split).cloned().collect()
    }

    /// The trials of this plan that belong to a shard, in the same order. Split comparisons
    /// ([`Plan::split_comparisons`]) and references are left out.
    #[must_use]
    pub fn shard(self, shard: Shard) -> Self {
        if shard.of == 1 {
            return self;
        }
        let split = self.split_comparisons(shard);
        let has = |trial: usize| trial % shard.of == shard.number - 1;
        let new_index = |trial: usize| trial / shard.of;
        Self {
            slots: self
                .slots
                .iter()
                .filter(|slot| has(slot.trial))
                .map(|slot| RepeatId { trial: new_index(slot.trial), ..*slot })
                .collect(),
            trials: self
                .trials
                .into_iter()
                .enumerate()
                .filter(|(index, _)| has(*index))
                .map(|(_, trial)| trial)
                .collect(),
            comparisons: self.comparisons.into_iter().filter(|one| !split.contains(one)).collect(),
            references: Vec::new(),
            memory: self.memory,
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
            memory: assay_units::Bytes::default(),
            refusals: Vec::new(),
        }
    }

    #[test]
    fn all_shards_together_are_all_repeats_of_all_trials() {
        let mut counts = BTreeMap::new();
        for index in 0..4 {
            let part = plan(10).shard(Shard::nth(index, 4));
            assert_eq!(part.slots.len(), part.trials.len() * 2);
            for slot in part.slots {
                let Scalar::Text(name) = &part.trials[slot.trial].factors["n"] else { panic!() };
                *counts.entry((name.clone(), slot.repeat)).or_insert(0) += 1;
            }
        }
        assert_eq!(counts.len(), 20);
        assert!(counts.values().all(|count| *count == 1));
        assert_eq!(plan(10).shard(Shard::nth(0, 1)), plan(10));
    }

    /// Two levels of `x` by three of `y`, where `y` varies faster, and a cross-trial promise over
    /// one of them.
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
        let promise = ComparisonRecord { measure, group: None, is };
        Plan { trials: (0..6).map(trial).collect(), comparisons: vec![promise], ..plan(0) }
    }

    #[test]
    fn a_comparison_within_one_shard_is_kept() {
        // Both levels of x of each y are three trials apart.
        for (over, shards, split) in [("x", 3, 0), ("x", 2, 1), ("y", 3, 1), ("y", 1, 0)] {
            let shard = Shard::nth(0, shards);
            assert_eq!(
                promised(over).split_comparisons(shard).len(),
                split,
                "{over}, {shards} shards"
            );
            assert_eq!(promised(over).shard(shard).comparisons.len(), 1 - split);
        }
    }

    #[test]
    fn shards_are_written_as_fractions() {
        assert_eq!("2/4".parse::<Shard>().unwrap(), Shard::nth(1, 4));
        assert_eq!(Shard::nth(5, 4).to_string(), "2/4");
        for wrong in ["", "2", "0/4", "5/4", "a/b", "1/0", "-1/2"] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("2/4"), "{wrong}");
        }
    }
}
