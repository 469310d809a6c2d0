//! Promises across trials: levels of a factor compared with each other.
//!
//! Trials are compared repeat by repeat: the order within a repeat is random, so that a drift of
//! the host affects both sides of a pair alike and only the level differs. The rule is that of means, on the logarithms
//! of these ratios.

use crate::verdict::{ComparisonJudgement, LevelJudgement, Verdict, wording};
use assay_record::run_folder::{AcrossRecord, ComparisonRecord, Levels, PairsRecord, TrialRecord};
use assay_stats::over_repeats::{Spread, needed_of_all};
use assay_stats::resolution::Resolution;
use assay_stats::rule::{BROKEN, FEWEST, KEPT};

use crate::metric::resolution;
use crate::trial_value::{TrialValues, ValuesByRepeat};

/// Two-sided confidence of the bounds for kept.
const SURE: f64 = 1.0 - 2.0 * KEPT;

/// Confidence of the interval shown of one level.
const SHOWN: f64 = 0.95;

mod pair;
mod sentence;

use pair::{Allowed, Level, Pair};

/// A trial with its values.
#[derive(Clone, Copy)]
pub(crate) struct TrialInput<'r> {
    /// The trial.
    pub(crate) trial: &'r TrialRecord,
    /// Its values.
    pub(crate) found: &'r TrialValues,
}

/// Judges one promise across trials, once for every combination of the factors held constant.
pub(crate) fn judge(
    promise: &ComparisonRecord,
    inputs: &[TrialInput<'_>],
) -> Vec<ComparisonJudgement> {
    let over = promise.is.over();
    let mut held: Vec<Levels> = Vec::new();
    for one in inputs {
        let levels = without(&one.trial.factors, &over);
        if !held.contains(&levels) {
            held.push(levels);
        }
    }
    held.into_iter()
        .map(|held| {
            let here: Vec<TrialInput<'_>> = inputs
                .iter()
                .copied()
                .filter(|one| without(&one.trial.factors, &over) == held)
                .collect();
            judge_one(promise, &over, held, &here)
        })
        .collect()
}

/// The levels of factors whose names are (or are not) among `names`.
fn split(factors: &Levels, names: &[String], among: bool) -> Levels {
    let some = factors.iter().filter(|(name, _)| names.contains(name) == among);
    some.map(|(name, level)| (name.clone(), level.clone())).collect()
}

fn without(factors: &Levels, names: &[String]) -> Levels {
    split(factors, names, false)
}

fn only(factors: &Levels, names: &[String]) -> Levels {
    split(factors, names, true)
}

fn judge_one(
    promise: &ComparisonRecord,
    over: &[String],
    held: Levels,
    inputs: &[TrialInput<'_>],
) -> ComparisonJudgement {
    let levels = levels(&promise.is, over, inputs);
    let which = pairs_of(&promise.is, levels.len());
    let allowed = Allowed::new(&promise.is);
    let sure = 1.0 - 2.0 * BROKEN / which.len().max(1) as f64;
    let pairs: Vec<Pair> =
        which.iter().map(|(of, to)| Pair::new(promise, &levels[*of], &levels[*to], sure)).collect();
    let verdict = match pairs.is_empty() {
        true => Verdict::Void,
        false => Verdict::worst(pairs.iter().map(|pair| pair.judged.verdict)),
    };
    let (at_least, at_most, within) = match &promise.is {
        AcrossRecord::Ratio { at_least, at_most, .. } => (*at_least, *at_most, None),
        AcrossRecord::Equal { within, .. } => (None, None, Some(*within)),
    };
    ComparisonJudgement {
        measure: promise.measure.clone(),
        group: promise.group.clone(),
        is: promise.is.word().to_owned(),
        over: over.to_vec(),
        held,
        at_least,
        at_most,
        within,
        verdict,
        reason: sentence::reason(promise, &pairs, verdict),
        needs_repeats: (verdict == Verdict::Undecided).then(|| needed(&pairs, allowed)).flatten(),
        levels: levels.iter().map(|level| document(level, promise)).collect(),
        pairs: pairs.into_iter().map(|pair| pair.judged).collect(),
    }
}

/// The levels in the order of the trials; for a ratio first the numerator, then the denominator.
fn levels(is: &AcrossRecord, over: &[String], inputs: &[TrialInput<'_>]) -> Vec<Level> {
    let find = |wanted: &Levels| -> Level {
        let found = inputs.iter().find(|one| only(&one.trial.factors, over) == *wanted);
        let found = found.map_or_else(
            || {
                TrialValues::missing(format!(
                    "no trial of this run has {}",
                    wording::levels(wanted)
                ))
            },
            |one| one.found.clone(),
        );
        Level { factors: wanted.clone(), found }
    };
    match is {
        AcrossRecord::Ratio { of, to, .. } => vec![find(of), find(to)],
        AcrossRecord::Equal { .. } => {
            inputs.iter().map(|one| find(&only(&one.trial.factors, over))).collect()
        }
    }
}

/// Index pairs (numerator, denominator): with `all` each level is divided by every earlier one, so
/// that the first of the study is never divided.
fn pairs_of(is: &AcrossRecord, levels: usize) -> Vec<(usize, usize)> {
    match is {
        AcrossRecord::Ratio { .. } => vec![(0, 1)],
        AcrossRecord::Equal { pairs: PairsRecord::First, .. } => {
            (1..levels).map(|of| (of, 0)).collect()
        }
        AcrossRecord::Equal { pairs: PairsRecord::All, .. } => {
            (1..levels).flat_map(|of| (0..of).map(move |to| (of, to))).collect()
        }
    }
}

/// The measure under one level.
fn document(level: &Level, promise: &ComparisonRecord) -> LevelJudgement {
    let resolution = resolution(&promise.measure);
    of_level(level.factors.clone(), &level.found.numbers, resolution)
}

/// The measure of one trial over its repeats.
pub(crate) fn of_level(
    factors: Levels,
    found: &ValuesByRepeat,
    resolution: Resolution,
) -> LevelJudgement {
    let (values, not_available) = match found {
        Ok(values) => (values.as_slice(), None),
        Err(why) => (&[][..], Some(why.clone())),
    };
    let logs: Vec<f64> = values.iter().map(|(_, value)| value.ln()).collect();
    let spread = Spread::of_numbers(&logs, resolution).filter(|spread| spread.mean.is_finite());
    let interval = spread.map(|spread| spread.interval(SHOWN));
    let bounded = interval.filter(|(_, _, high)| high.is_finite());
    let nothing = values
        .first()
        .map(|(_, first)| *first)
        .filter(|_| values.iter().all(|(_, value)| *value == 0.0));
    LevelJudgement {
        factors,
        repeats: values.len(),
        value: interval.map(|(value, _, _)| value).or(nothing),
        low: bounded.map(|(_, low, _)| low),
        high: bounded.map(|(_, _, high)| high),
        not_available,
    }
}

/// The repeats that would probably decide.
fn needed(pairs: &[Pair], allowed: Allowed) -> Option<usize> {
    let open = pairs.iter().filter(|pair| pair.judged.verdict == Verdict::Undecided);
    let spreads = open.filter_map(|pair| pair.spread.as_ref().ok());
    needed_of_all(spreads.map(|spread| (*spread, allowed.room(spread.mean))), SURE)
        .map(|needed| needed.max(FEWEST))
}
