//! One level of a factor compared with another.

use crate::verdict::wording::{self, number, together};
use crate::verdict::{PairJudgement, Verdict};
use assay_record::run_folder::{AcrossRecord, ComparisonRecord, Levels};
use assay_stats::over_repeats::Spread;
use assay_stats::rule::FEWEST;

use crate::metric::resolution;
use crate::trial_value::TrialValues;

use super::SURE;

/// One level with its values.
pub(super) struct Level {
    pub(super) factors: Levels,
    pub(super) found: TrialValues,
}

/// Allowed range of a ratio.
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    low: f64,
    high: f64,
}

impl Allowed {
    /// For `equal` symmetric in both sides.
    pub(super) fn new(is: &AcrossRecord) -> Self {
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
    pub(super) fn room(self, log: f64) -> f64 {
        (log - self.low.ln()).min(self.high.ln() - log)
    }
}

/// One level compared with another.
pub(super) struct Pair {
    /// Its verdict and numbers.
    pub(super) judged: PairJudgement,
    /// Ratios over the repeats that both sides have, or why there are none.
    pub(super) spread: Result<Spread, String>,
    /// Estimate, low and high; `None` where there is no spread.
    pub(super) interval: Option<(f64, f64, f64)>,
    /// Why it is neither kept nor broken although its interval says so.
    pub(super) objection: Option<String>,
}

impl Pair {
    pub(super) fn new(promise: &ComparisonRecord, of: &Level, to: &Level, sure: f64) -> Self {
        let allowed = Allowed::new(&promise.is);
        let spread = logs(of, to).and_then(|logs| {
            Spread::of_ratios(&logs, resolution(&promise.measure)).ok_or_else(|| {
                let both = format!(
                    "{} and {}",
                    wording::levels(&of.factors),
                    wording::levels(&to.factors)
                );
                format!("no repeat has a number above zero under {both}")
            })
        });
        // Zeros stand for what could not be told from them: with less the ratio is further off.
        let (low, high) = (of.has_zero_rates(), to.has_zero_rates());
        let interval = |spread: &Spread, confidence: f64| {
            let (ratio, least, most) = match spread.count < FEWEST {
                true => (spread.mean.exp(), 0.0, f64::INFINITY),
                false => spread.interval(confidence),
            };
            (ratio, if low { 0.0 } else { least }, if high { f64::INFINITY } else { most })
        };
        let found = spread
            .as_ref()
            .map(|spread| decide(interval(spread, SURE), interval(spread, sure), allowed));
        let interval = spread.as_ref().ok().map(|spread| interval(spread, SURE));
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
        let count = spread.as_ref().map_or(0, |spread| spread.count);
        let bounded = interval.filter(|_| count >= FEWEST);
        let judged = PairJudgement {
            of: of.factors.clone(),
            to: to.factors.clone(),
            repeats: count,
            ratio: interval.map(|(ratio, _, _)| ratio),
            low: bounded.map(|(_, low, _)| low),
            high: bounded.map(|(_, _, high)| high).filter(|high| high.is_finite()),
            verdict,
        };
        Self { judged, spread, interval, objection }
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
fn decide(one: (f64, f64, f64), all: (f64, f64, f64), allowed: Allowed) -> Verdict {
    if all.1 > allowed.high || all.2 < allowed.low {
        Verdict::Broken
    } else if one.1 >= allowed.low && one.2 <= allowed.high {
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
        let is_counted = !left_out && !*other_left_out;
        match () {
            () if is_counted && ratio.is_nan() => {
                Some(format!("repeat {repeat} has zero on both sides"))
            }
            () if !is_counted && allowed.room(ratio.ln()) < 0.0 => {
                Some(format!("repeat {repeat}, which is left out, has {} times", number(ratio)))
            }
            () => None,
        }
    });
    together(unseen.chain(left_out))
}

impl Level {
    fn has_zero_rates(&self) -> bool {
        self.found.least.is_some()
            && self.found.numbers.iter().flatten().any(|(_, value)| *value <= 0.0)
    }

    /// The logarithm of a number, or of the least that could be told from zero.
    fn log(&self, value: f64) -> f64 {
        let least = self.found.least.filter(|_| value <= 0.0);
        least.unwrap_or(value).ln()
    }
}

/// Logarithms of both sides, repeat by repeat, but for those in which both are zero.
fn logs(of: &Level, to: &Level) -> Result<Vec<(f64, f64)>, String> {
    let side = |level: &Level| -> Result<Vec<(usize, f64)>, String> {
        let name = wording::levels(&level.factors);
        let found = level.found.numbers.as_ref().map_err(|why| format!("under {name}: {why}"))?;
        match found.iter().find(|(_, value)| !level.log(*value).is_finite()) {
            Some((number, value)) => Err(format!(
                "under {name}: the measure is {value} in repeat {number}, which has no \
                 ratio"
            )),
            None => Ok(found.clone()),
        }
    };
    let (ours, theirs) = (side(of)?, side(to)?);
    let both = |(number, value): &(usize, f64)| {
        let (_, other) = theirs.iter().find(|(other, _)| other == number)?;
        (*value > 0.0 || *other > 0.0).then(|| (of.log(*value), to.log(*other)))
    };
    Ok(ours.iter().filter_map(both).collect())
}
