//! What is no mean: of each start one number that is inside or outside. The verdict is the fraction of starts in
//! which all were inside.

use crate::verdict::{GroupJudgement, Interval, Verdict};
use assay_stats::rule::{FEWEST, Starts};

use crate::estimates::of_fraction;

/// One group, or workload, over all starts.
pub(crate) struct Row {
    pub(crate) name: String,
    /// Its numbers.
    pub(crate) numbers: Vec<f64>,
    /// What they should have been, on average.
    pub(crate) expected: f64,
    /// How far they were off.
    pub(crate) errors: Vec<f64>,
    /// Whether each was inside.
    pub(crate) inside: Vec<bool>,
}

impl Row {
    /// The mean of the starts, the least and the largest.
    pub(crate) fn seen(&self) -> Interval {
        of_starts(&self.numbers)
    }

    /// The same of the errors.
    pub(crate) fn error(&self) -> Interval {
        Interval { high: self.worst(), ..of_starts(&self.errors) }
    }

    /// How far it was off in the worst start.
    pub(crate) fn worst(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }

    /// The row of the document, with the verdict by its own starts.
    pub(crate) fn judged(&self, part: f64) -> GroupJudgement {
        let Interval { value, low, high } = self.seen();
        GroupJudgement {
            name: self.name.clone(),
            expected_share: self.expected,
            share: value,
            low,
            high,
            rate: value,
            verdict: of_fraction(Starts::count(self.inside.iter().copied()), part),
            ..GroupJudgement::default()
        }
    }
}

fn of_starts(numbers: &[f64]) -> Interval {
    Interval {
        value: mean(numbers),
        low: numbers.iter().copied().fold(f64::INFINITY, f64::min),
        high: numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// The mean, 0 of none.
pub(crate) fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// The starts in which all were inside.
pub(crate) fn starts<'r, I: Iterator<Item = &'r Row>>(rows: impl Fn() -> I) -> Starts {
    let of = rows().map(|row| row.inside.len()).min().unwrap_or(0);
    Starts::count((0..of).map(|start| rows().all(|row| row.inside[start])))
}

/// Whether causes are looked for: the promise is broken, or all of too few starts were outside.
pub(crate) fn is_off(starts: Starts, verdict: Verdict) -> bool {
    verdict == Verdict::Broken || starts.inside == 0 && (1..FEWEST).contains(&starts.of)
}

/// The verdict, and the repeats that would decide it.
pub(crate) fn decide(starts: Starts, part: f64) -> (Verdict, Option<usize>) {
    (of_fraction(starts, part), (starts.of < FEWEST).then_some(FEWEST))
}
