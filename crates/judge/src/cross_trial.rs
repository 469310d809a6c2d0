//! Promises across trials: levels of a factor compared with each other.
//!
//! Trials are compared repeat by repeat: the order within a repeat is random, so that a drift of
//! the host affects both sides of a pair alike and only the level differs. Intervals are Student's
//! t on the logarithms of these ratios.

use assay_run_folder::{AcrossRecord, ComparisonRecord, Levels, PairsRecord, TrialRecord};
use assay_stats::over_repeats::{Resolution, Spread, confidence_to_break, needed_of_all};
use assay_verdict::wording::{self, number, together};
use assay_verdict::{ComparisonJudgement, LevelJudgement, PairJudgement, Verdict};

use crate::metric::resolution;
use crate::trial_value::{TrialValues, ValuesByRepeat};

mod sentence;

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

/// One level with its values.
struct Level {
    factors: Levels,
    found: TrialValues,
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
    let sure = confidence_to_break(promise.confidence, which.len());
    let pairs: Vec<Pair> =
        which.iter().map(|(of, to)| Pair::new(promise, &levels[*of], &levels[*to], sure)).collect();
    let verdict = match pairs.is_empty() {
        true => Verdict::Void,
        false => Verdict::worst(pairs.iter().map(|pair| pair.verdict)),
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
        confidence: promise.confidence,
        verdict,
        reason: sentence::reason(promise, &pairs, verdict),
        needs_repeats: (verdict == Verdict::Undecided)
            .then(|| needed(&pairs, allowed, promise.confidence))
            .flatten(),
        levels: levels.iter().map(|level| document(level, promise)).collect(),
        pairs: pairs.iter().map(Pair::document).collect(),
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

/// Allowed range of a ratio.
#[derive(Clone, Copy)]
struct Allowed {
    low: f64,
    high: f64,
}

impl Allowed {
    /// For `equal` symmetric in both sides.
    fn new(is: &AcrossRecord) -> Self {
        match is {
            AcrossRecord::Ratio { at_least, at_most, .. } => {
                Self { low: at_least.unwrap_or(0.0), high: at_most.unwrap_or(f64::INFINITY) }
            }
            AcrossRecord::Equal { within, .. } => {
                Self { low: 1.0 / (1.0 + within), high: 1.0 + within }
            }
        }
    }

    /// Distance of a logarithm from the nearer bound; negative outside.
    fn room(self, log: f64) -> f64 {
        (log - self.low.ln()).min(self.high.ln() - log)
    }
}

/// One level compared with another.
struct Pair {
    of: Levels,
    to: Levels,
    /// Ratios over the repeats that both sides have, or why there are none.
    spread: Result<Spread, String>,
    /// Estimate, low and high; `None` where there is no spread.
    interval: Option<(f64, f64, f64)>,
    verdict: Verdict,
    /// Why it is neither kept nor broken although its interval says so.
    objection: Option<String>,
}

impl Pair {
    fn new(promise: &ComparisonRecord, of: &Level, to: &Level, sure: f64) -> Self {
        let (allowed, confidence) = (Allowed::new(&promise.is), promise.confidence);
        let spread = logs(of, to).and_then(|logs| {
            Spread::of_ratios(&logs, resolution(&promise.measure)).ok_or_else(|| {
                let both = format!(
                    "{} and {}",
                    wording::levels(&of.factors),
                    wording::levels(&to.factors)
                );
                format!("no repeat has a number under both {both}")
            })
        });
        let interval = spread.as_ref().ok().map(|spread| spread.interval(confidence));
        let found = spread.as_ref().map(|spread| decide(spread, allowed, confidence, sure));
        let (verdict, objection) = match found.unwrap_or(Verdict::Void) {
            Verdict::Kept => match objection(of, to, allowed) {
                Some(why) => (Verdict::Undecided, Some(why)),
                None => (Verdict::Kept, None),
            },
            // The ratio is outside of one bound, and zeros would move it towards the other.
            Verdict::Broken if against_zeros(&spread, (of, to), allowed) => {
                (Verdict::Undecided, objection(of, to, allowed))
            }
            other => (other, None),
        };
        let (of, to) = (of.factors.clone(), to.factors.clone());
        Self { of, to, spread, interval, verdict, objection }
    }

    fn repeats(&self) -> usize {
        self.spread.as_ref().map_or(0, |spread| spread.count)
    }

    fn document(&self) -> PairJudgement {
        let bounded = self.interval.filter(|(_, _, high)| high.is_finite());
        PairJudgement {
            of: self.of.clone(),
            to: self.to.clone(),
            repeats: self.repeats(),
            ratio: self.interval.map(|(ratio, _, _)| ratio),
            low: bounded.map(|(_, low, _)| low),
            high: bounded.map(|(_, _, high)| high),
            verdict: self.verdict,
        }
    }
}

/// Whether repeats of a side in which the number was zero contradict that the others break the
/// promise.
fn against_zeros(
    spread: &Result<Spread, String>,
    (of, to): (&Level, &Level),
    allowed: Allowed,
) -> bool {
    let above = spread.as_ref().is_ok_and(|spread| spread.mean > allowed.high.ln());
    if above { of.found.has_zeros } else { to.found.has_zeros }
}

/// Kept by the interval of this pair, broken only by the interval that holds for all pairs at once;
/// [`crate::decide`] explains why.
fn decide(spread: &Spread, allowed: Allowed, confidence: f64, sure: f64) -> Verdict {
    let (_, low, high) = spread.interval(confidence);
    let (_, low_of_all, high_of_all) = spread.interval(sure);
    if low_of_all > allowed.high || high_of_all < allowed.low {
        Verdict::Broken
    } else if low >= allowed.low && high <= allowed.high {
        Verdict::Kept
    } else {
        Verdict::Undecided
    }
}

/// Why missing is kept despite the counted repeats: unobserved repeats of either side, and repeats
/// left out on one side whose ratio was outside the range.
fn objection(of: &Level, to: &Level, allowed: Allowed) -> Option<String> {
    let unseen = [of, to].into_iter().filter_map(|level| {
        let (why, name) = (level.found.unseen.as_ref()?, wording::levels(&level.factors));
        Some(format!("the missing part under {name} may have differed: {why}"))
    });
    let all = |level: &Level| {
        let counted = level.found.numbers.iter().flatten().map(|one| (*one, false));
        let left_out = level.found.left_out.iter().map(|one| (*one, true));
        counted.chain(left_out).collect::<Vec<_>>()
    };
    let others = all(to);
    let left_out = all(of).into_iter().filter_map(|((repeat, value), left_out)| {
        let found = others.iter().find(|((other, _), _)| *other == repeat);
        let ((_, other), other_left_out) = found?;
        let ratio = value / other;
        let tells = (left_out || *other_left_out) && allowed.room(ratio.ln()) < 0.0;
        tells.then(|| format!("repeat {repeat}, which is left out, has {} times", number(ratio)))
    });
    together(unseen.chain(left_out))
}

/// Logarithms of both sides, repeat by repeat.
fn logs(of: &Level, to: &Level) -> Result<Vec<(f64, f64)>, String> {
    let side = |level: &Level| -> Result<Vec<(usize, f64)>, String> {
        let name = wording::levels(&level.factors);
        let found = level.found.numbers.as_ref().map_err(|why| format!("under {name}: {why}"))?;
        match found.iter().find(|(_, value)| !value.is_finite() || *value <= 0.0) {
            Some((number, value)) => Err(format!(
                "under {name}: the measure is {value} in repeat {number}, which has no \
                 ratio"
            )),
            None => Ok(found.clone()),
        }
    };
    let (of, to) = (side(of)?, side(to)?);
    let both = |(number, value): &(usize, f64)| {
        let (_, other) = to.iter().find(|(other, _)| other == number)?;
        Some((value.ln(), other.ln()))
    };
    Ok(of.iter().filter_map(both).collect())
}

/// The measure under one level.
fn document(level: &Level, promise: &ComparisonRecord) -> LevelJudgement {
    let resolution = resolution(&promise.measure);
    of_level(level.factors.clone(), &level.found.numbers, resolution, promise.confidence)
}

/// The measure of one trial over its repeats.
pub(crate) fn of_level(
    factors: Levels,
    found: &ValuesByRepeat,
    resolution: Resolution,
    confidence: f64,
) -> LevelJudgement {
    let (values, not_available) = match found {
        Ok(values) => (values.as_slice(), None),
        Err(why) => (&[][..], Some(why.clone())),
    };
    let logs: Vec<f64> = values.iter().map(|(_, value)| value.ln()).collect();
    let spread = Spread::of_numbers(&logs, resolution).filter(|spread| spread.mean.is_finite());
    let interval = spread.map(|spread| spread.interval(confidence));
    let bounded = interval.filter(|(_, _, high)| high.is_finite());
    LevelJudgement {
        factors,
        repeats: values.len(),
        value: interval.map(|(value, _, _)| value),
        low: bounded.map(|(_, low, _)| low),
        high: bounded.map(|(_, _, high)| high),
        not_available,
    }
}

/// The repeats that would probably decide.
fn needed(pairs: &[Pair], allowed: Allowed, confidence: f64) -> Option<usize> {
    let open = pairs.iter().filter(|pair| pair.verdict == Verdict::Undecided);
    let spreads = open.filter_map(|pair| pair.spread.as_ref().ok());
    needed_of_all(spreads.map(|spread| (*spread, allowed.room(spread.mean))), confidence)
}
