//! The share or rate of one group with the two intervals that decide about it.

/// Bounds of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Range {
    /// The smallest range that contains both.
    pub(super) fn with(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// A share or rate of one group with its intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The point estimate.
    pub value: f64,
    /// The interval of this group alone, the wider of its pool's and its own repeats': it is
    /// reported, and used for `kept`.
    pub low: f64,
    /// Its upper bound.
    pub high: f64,
    /// The interval used for `broken`: it holds for all groups at once (Bonferroni), with a fifth
    /// of the error probability, since an accusation needs more certainty.
    pub broken: Range,
}

impl Estimate {
    /// The same with both intervals widened to contain these, the first for the group alone.
    pub(super) fn with(self, one: Range, all: Range) -> Self {
        let Range { low, high } = Range { low: self.low, high: self.high }.with(one);
        Self { low, high, broken: self.broken.with(all), ..self }
    }

    /// From a logarithm, with half the width of its interval and of the one used for `broken`.
    pub fn of_log(log: f64, half: f64, broken: f64) -> Self {
        let range = |half: f64| Range { low: (log - half).exp(), high: (log + half).exp() };
        let Range { low, high } = range(half);
        Self { value: log.exp(), low, high, broken: range(broken) }
    }
}
