//! How finely measured numbers are known.

/// Buckets of fio's histogram of latencies are a 64th wide.
pub(crate) const BUCKET: f64 = 1.0 / 64.0;

/// How finely a number is known, which matters where it is nearly the same in all repeats: scatter
/// that is smaller does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// To the last digit.
    Exact,
    /// A latency, to the width of a bucket of a histogram.
    Bucket,
    /// To one unit where all numbers are whole, as counts of events and rounded times are.
    Unit,
}

impl Resolution {
    /// That of these numbers together: one that is whole by chance makes no count of the others.
    #[must_use]
    pub fn of(self, mut numbers: impl Iterator<Item = f64>) -> Self {
        if self == Self::Unit && !numbers.all(is_whole) { Self::Exact } else { self }
    }

    /// Half the width, as a logarithm, of a number that is this one in all repeats.
    #[must_use]
    pub fn grain(self, value: f64) -> f64 {
        match self {
            Self::Bucket => BUCKET.ln_1p(),
            Self::Unit if value > 0.0 && is_whole(value) => (1.0 / value).ln_1p(),
            Self::Unit | Self::Exact => 0.0,
        }
    }
}

/// Whether it is 0, 1, 2, ...: but for the rounding of a number that comes from its logarithm.
fn is_whole(value: f64) -> bool {
    value >= 0.0 && (value - value.round()).abs() <= 1e-9 * value
}
