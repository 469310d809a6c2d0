//! Pairs the trials of two runs.

use std::collections::BTreeSet;

use assay_record::run_folder::{Levels, Manifest, TrialRecord};

/// Repeats that differ in length by more than this factor are different experiments: caches fill,
/// disks wear, and one-time work weighs more.
const LONGER: f64 = 2.0;

/// A pair of trials.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Match {
    /// Index in A.
    pub(super) a: usize,
    /// Index in B.
    pub(super) b: usize,
    /// The levels that both have.
    pub(super) same: Levels,
    /// Levels in A of the factors that differ between the runs as wholes.
    pub(super) a_only: Levels,
    /// The same in B.
    pub(super) b_only: Levels,
}

/// All pairs, and the unmatched trials.
#[derive(Debug, Default)]
pub(super) struct Matched {
    pub(super) pairs: Vec<Match>,
    pub(super) a_alone: Vec<usize>,
    pub(super) b_alone: Vec<usize>,
}

/// Pairs trials with the same levels. A factor with one level in all of A and another in all of B
/// (or unknown in one of them) is the difference between the runs: it is compared and does not
/// separate trials.
pub(super) fn trials(a: &Manifest, b: &Manifest) -> Matched {
    let compared = compared(a, b);
    let mut matched = Matched::default();
    for (index, trial) in a.trials.iter().enumerate() {
        let same = split(&trial.factors, &compared).0;
        let taken = |other: usize| matched.pairs.iter().any(|pair| pair.b == other);
        let found = b.trials.iter().enumerate().position(|(other, candidate)| {
            !taken(other) && split(&candidate.factors, &compared).0 == same
        });
        match found {
            Some(other) => matched.pairs.push(Match {
                a: index,
                b: other,
                a_only: split(&trial.factors, &compared).1,
                b_only: split(&b.trials[other].factors, &compared).1,
                same,
            }),
            None => matched.a_alone.push(index),
        }
    }
    let taken: Vec<usize> = matched.pairs.iter().map(|pair| pair.b).collect();
    matched.b_alone = (0..b.trials.len()).filter(|index| !taken.contains(index)).collect();
    matched
}

/// The levels of trials without a counterpart.
pub(super) fn unmatched(manifest: &Manifest, alone: &[usize]) -> Vec<Levels> {
    alone.iter().map(|index| manifest.trials[*index].factors.clone()).collect()
}

/// Why two trials with the same levels are not comparable.
pub(super) fn refusal(a: &TrialRecord, b: &TrialRecord) -> Option<String> {
    let (shorter, longer) = (a.at_most_s.min(b.at_most_s), a.at_most_s.max(b.at_most_s));
    (longer > LONGER * shorter).then(|| {
        format!(
            "a repeat runs {} s in A and {} s in B; `--force` compares them anyway",
            a.at_most_s, b.at_most_s
        )
    })
}

/// Factors with one level in each run, and different ones.
fn compared(a: &Manifest, b: &Manifest) -> Vec<String> {
    let names = a.trials.iter().chain(&b.trials).flat_map(|trial| trial.factors.keys());
    let names: BTreeSet<&String> = names.collect();
    let only = |manifest: &Manifest, name: &str| {
        let mut levels = manifest.trials.iter().map(|trial| trial.factors.get(name).cloned());
        let first = levels.next().flatten();
        levels.all(|level| level == first).then_some(first)
    };
    names
        .into_iter()
        .filter(|name| match (only(a, name), only(b, name)) {
            (Some(of_a), Some(of_b)) => of_a != of_b,
            _ => false,
        })
        .cloned()
        .collect()
}

/// Levels of the other factors, and of the compared ones.
fn split(factors: &Levels, compared: &[String]) -> (Levels, Levels) {
    let of = |wanted: bool| {
        let some = factors.iter().filter(|(name, _)| compared.contains(name) == wanted);
        some.map(|(name, level)| (name.clone(), level.clone())).collect()
    };
    (of(false), of(true))
}
