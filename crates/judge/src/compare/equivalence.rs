//! Classifies two noisy measurements: better, worse, equal, different, undecided.

use crate::trial_numbers::{RepeatLog, TrialNumber};
use crate::verdict::wording::{number, together};
use crate::verdict::{Equivalence, Estimated, MeasureComparison, PromiseChange, Verdict};
use assay_record::terms::{Direction, Measure, RelationKind};
use assay_stats::over_repeats::{confidence_to_break, equivalence};

use super::Terms;
use super::direction::direction;
use super::ratio::Log;

/// Parameters of the decision.
#[derive(Clone)]
pub(super) struct Rule {
    /// The margin.
    pub(super) within: f64,
    /// Confidence of one interval.
    pub(super) confidence: f64,
    /// Confidence of each interval such that all of them hold together.
    pub(super) sure: f64,
    /// Whether repeats are paired.
    pub(super) paired: bool,
}

impl Rule {
    /// The rule for these pairs of measures: of those that decide, all that differ are found with the error of one
    /// (Holm 1979). The least ratio is held against the error over all; what that finds need not be counted again.
    pub(super) fn new<'n>(
        terms: &Terms,
        paired: bool,
        deciding: impl Iterator<Item = &'n (TrialNumber, TrialNumber)>,
    ) -> Self {
        let with =
            |sure: f64| Self { within: terms.within, confidence: terms.confidence, sure, paired };
        let ratio = |(a, b): &(TrialNumber, TrialNumber)| {
            with(0.0).ratio(a.found.as_deref().ok()?, b.found.as_deref().ok()?)
        };
        let ratios: Vec<Log> = deciding.filter_map(ratio).collect();
        let mut found = 0;
        loop {
            let rule = with(confidence_to_break(terms.confidence, ratios.len() - found));
            let apart = ratios.iter().filter(|ratio| rule.is_apart(ratio)).count();
            if apart <= found {
                return rule;
            }
            found = apart;
        }
    }

    fn is_apart(&self, ratio: &Log) -> bool {
        ratio.is_enough() && ratio.mean.abs() - ratio.half(self.sure) > self.edge()
    }

    /// Compares one measure.
    pub(super) fn judge(&self, a: &TrialNumber, b: &TrialNumber) -> MeasureComparison {
        let (of, to) = (a, b);
        let blank = MeasureComparison {
            measure: a.measure.clone(),
            of: a.of.to_owned(),
            group: a.group.clone(),
            decides: a.decides,
            better: direction(a).word().map(str::to_owned),
            a: self.side(a),
            b: self.side(b),
            ..MeasureComparison::default()
        };
        match (&a.found, &b.found) {
            (Ok(of_a), Ok(of_b)) => {
                let found = self.decide(blank, direction(of), of_a, of_b);
                let zeros = (of.lacks_zeros, to.lacks_zeros);
                apply_objection(against_zeros(found, zeros), self.objection(of, to))
            }
            (a, b) => MeasureComparison { not_available: Some(why(a, b)), ..blank },
        }
    }

    fn side(&self, one: &TrialNumber) -> Estimated {
        let numbers = one.found.as_ref().map_or(&[][..], Vec::as_slice);
        let Some(log) = Log::new(numbers) else {
            return Estimated::default();
        };
        let half = Some(log.half(self.confidence)).filter(|half| half.is_finite());
        Estimated {
            value: Some(log.mean.exp()),
            low: half.map(|half| (log.mean - half).exp()),
            high: half.map(|half| (log.mean + half).exp()),
            repeats: numbers.len(),
        }
    }

    fn decide(
        &self,
        blank: MeasureComparison,
        direction: Direction,
        a: &[RepeatLog],
        b: &[RepeatLog],
    ) -> MeasureComparison {
        let Some(ratio) = self.ratio(a, b) else { return blank };
        let edge = self.edge();
        let (half, sure) = (ratio.half(self.confidence), ratio.half(self.sure));
        let enough = ratio.is_enough();
        let equal = enough && ratio.mean.abs() + ratio.half(equivalence(self.confidence)) <= edge;
        let apart = self.is_apart(&ratio);
        let differs = enough && ratio.mean.abs() > sure;
        let down = enough && ratio.mean + half < edge;
        let up = enough && ratio.mean - half > -edge;
        let verdict = match (equal, apart) {
            (true, _) => Equivalence::Equal,
            (_, true) => outside(direction, ratio.mean),
            _ => Equivalence::Undecided,
        };
        let distance = (edge - ratio.mean.abs()).abs();
        let open = verdict == Equivalence::Undecided;
        MeasureComparison {
            ratio: Some(ratio.mean.exp()),
            low: half.is_finite().then(|| (ratio.mean - half).exp()),
            high: half.is_finite().then(|| (ratio.mean + half).exp()),
            equivalent: if equal { Some(true) } else { apart.then_some(false) },
            differs: if differs { Some(true) } else { None },
            verdict,
            not_worse: match direction {
                Direction::Higher => up,
                Direction::Lower => down,
                // Which way would be worse is unknown.
                Direction::Neither => equal,
            },
            needs_repeats: open.then(|| ratio.needed(distance, self.confidence)).flatten(),
            ..blank
        }
    }

    /// Why nothing is called equal despite the intervals: unobserved repeats of a side, and repeats
    /// that were left out and differ from the other side by more than the margin.
    fn objection(&self, a: &TrialNumber, b: &TrialNumber) -> Option<String> {
        let unseen = [("A", a), ("B", b)].into_iter().filter_map(|(side, of)| {
            let why = of.unseen.as_ref()?;
            Some(format!("the missing part of {side} may have differed: {why}"))
        });
        let left_out = [("A", a, "B", b), ("B", b, "A", a)].into_iter();
        let left_out = left_out.flat_map(|(side, of, beside, other)| {
            let apart = |left_out: &RepeatLog| {
                let apart = left_out.log - self.beside(left_out.repeat, other)?;
                (apart.abs() > self.edge()).then(|| {
                    let (repeat, ratio) = (left_out.repeat, number(apart.exp()));
                    format!(
                        "repeat {repeat} of {side}, which is left out, has {ratio} times that of \
                         {beside}"
                    )
                })
            };
            of.left_out.iter().filter_map(apart).collect::<Vec<_>>()
        });
        together(unseen.chain(left_out))
    }

    /// The value a repeat is compared with: its counterpart where repeats are paired, otherwise the
    /// mean.
    fn beside(&self, repeat: usize, other: &TrialNumber) -> Option<f64> {
        let counted = other.found.as_ref().map_or(&[][..], Vec::as_slice);
        let mut all = counted.iter().chain(&other.left_out);
        match self.paired {
            true => all.find(|one| one.repeat == repeat).map(|one| one.log),
            false => Log::new(counted).map(|log| log.mean),
        }
    }

    /// Largest difference of the logarithms of equal numbers.
    fn edge(&self) -> f64 {
        (1.0 + self.within).ln()
    }

    /// Paired where the design pairs and there are at least two pairs; otherwise each side
    /// separately.
    fn ratio(&self, a: &[RepeatLog], b: &[RepeatLog]) -> Option<Log> {
        let paired = if self.paired { Log::paired(b, a) } else { None };
        match paired {
            Some(ratio) => Some(ratio),
            None => Some(Log::ratio(&Log::new(b)?, &Log::new(a)?)),
        }
    }
}

/// Repeats with a zero, of which no ratio can be formed, would move the ratio towards 0 in B and
/// away from it in A. What differs in the other direction is open.
fn against_zeros(found: MeasureComparison, (in_a, in_b): (bool, bool)) -> MeasureComparison {
    let against = match found.ratio {
        Some(ratio) if ratio > 1.0 => in_b,
        _ => in_a,
    };
    match against {
        true => MeasureComparison {
            verdict: Equivalence::Undecided,
            equivalent: None,
            differs: None,
            ..found
        },
        false => found,
    }
}

/// An objection forbids equal and not worse; different remains.
fn apply_objection(found: MeasureComparison, objection: Option<String>) -> MeasureComparison {
    if objection.is_none() {
        return found;
    }
    MeasureComparison {
        verdict: match found.verdict {
            Equivalence::Equal => Equivalence::Undecided,
            other => other,
        },
        equivalent: found.equivalent.filter(|equal| !equal),
        not_worse: false,
        objection,
        ..found
    }
}

fn outside(direction: Direction, log: f64) -> Equivalence {
    match (direction, log > 0.0) {
        (Direction::Neither, _) => Equivalence::Different,
        (Direction::Higher, true) | (Direction::Lower, false) => Equivalence::Better,
        _ => Equivalence::Worse,
    }
}

fn why(a: &Result<Vec<RepeatLog>, String>, b: &Result<Vec<RepeatLog>, String>) -> String {
    match (a, b) {
        (Err(a), Err(b)) if a == b => format!("in both: {a}"),
        (Err(a), Err(b)) => format!("in A: {a}; in B: {b}"),
        (Err(a), Ok(_)) => format!("in A: {a}"),
        (Ok(_), Err(b)) => format!("in B: {b}"),
        (Ok(_), Ok(_)) => "both are available".to_owned(),
    }
}

/// Whether this is about one group of a resource whose division was broken in A and is kept in B:
/// what one group lost on the way another was owed.
fn is_kept_at_last(one: &MeasureComparison, promises: &[PromiseChange]) -> bool {
    let resource = |name: &str| Measure::parse(name).map(|measure| measure.info().resource);
    let divides =
        |one: &PromiseChange| RelationKind::parse(&one.is).is_some_and(RelationKind::divides);
    let of = resource(&one.measure).filter(|_| one.group.is_some());
    let mut better = promises.iter().filter(|promise| promise.change == Equivalence::Better);
    of.is_some() && better.any(|promise| divides(promise) && resource(&promise.measure) == of)
}

/// Whether a promise leaves open what the measures may have decided. One that is undecided, or void, on
/// both sides adds nothing to them; one that is broken on both may be so by more in one.
pub(super) fn leaves_open(one: &PromiseChange) -> bool {
    let (a, b) = (one.a.verdict, one.b.verdict);
    one.change == Equivalence::Undecided && (a != b || a == Verdict::Broken)
}

/// The verdict of a trial. Only the measures that decide count.
pub(super) fn of_trial(
    measures: &[MeasureComparison],
    promises: &[PromiseChange],
    baseline: bool,
) -> Equivalence {
    let deciding = measures.iter().filter(|one| one.decides);
    let deciding = deciding.filter(|one| !baseline || !is_kept_at_last(one, promises));
    let changes = promises.iter().map(|promise| promise.change);
    let seen = deciding.clone().map(|one| one.verdict).chain(changes);
    let any = |wanted: &[Equivalence]| seen.clone().any(|one| wanted.contains(&one));
    let mut missing = deciding.clone();
    let open = missing.any(|one| match one.verdict {
        Equivalence::Undecided => !baseline || !one.not_worse,
        Equivalence::NotComparable => true,
        // What became better in the remaining data of a side may have become worse in the missing
        // part.
        Equivalence::Better => baseline && one.objection.is_some(),
        _ => false,
    });
    // More CPU time is no regression by itself, unless it was promised or asked about.
    let mut deciding = deciding;
    let unclear = deciding.any(|one| one.verdict == Equivalence::Different);
    let open = open || promises.iter().any(leaves_open);
    let decided = promises.iter().any(|one| one.change != Equivalence::Undecided);
    let nothing = measures.iter().all(|one| one.ratio.is_none()) && !decided;
    if baseline {
        return match () {
            () if any(&[Equivalence::Worse]) => Equivalence::Worse,
            () if unclear => Equivalence::Different,
            () if nothing => Equivalence::NotComparable,
            () if open => Equivalence::Undecided,
            () if any(&[Equivalence::Better]) => Equivalence::Better,
            () => Equivalence::Equal,
        };
    }
    match () {
        () if any(&[Equivalence::Worse, Equivalence::Better, Equivalence::Different]) => {
            Equivalence::Different
        }
        () if nothing => Equivalence::NotComparable,
        () if open => Equivalence::Undecided,
        () => Equivalence::Equal,
    }
}
