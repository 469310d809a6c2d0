//! OCI runtimes: runc and what uses its library (opencontainers/cgroups), and crun.

use super::{MAX_SHARES, MIN_SHARES};

/// The formula by which shares became a `cpu.weight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formula {
    /// Proportional from 2..262144 to 1..10000: runc before 1.3.2, crun before 1.23, and the kubelet.
    Linear,
    /// Quadratic in the logarithm, so that 1024 becomes 100: runc since 1.3.2, crun since 1.23.
    Curve,
}

impl Formula {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Linear, Self::Curve];

    /// The weight for these shares; 0 means unset in both.
    #[must_use]
    pub(crate) fn weight(self, shares: u64) -> u64 {
        match (self, shares) {
            (_, 0) => 0,
            (_, ..=MIN_SHARES) => 1,
            (_, MAX_SHARES..) => 10_000,
            (Self::Linear, shares) => 1 + (shares - MIN_SHARES) * 9_999 / (MAX_SHARES - MIN_SHARES),
            (Self::Curve, shares) => curve(shares),
        }
    }

    /// The shares that give this weight, from the fewest to the most.
    #[must_use]
    pub(crate) fn shares(self, weight: u64) -> Option<(u64, u64)> {
        let reaching = |weight: u64| {
            let (mut low, mut high) = (MIN_SHARES, MAX_SHARES + 1);
            while low < high {
                let middle = low.midpoint(high);
                if self.weight(middle) >= weight {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low
        };
        let first = reaching(weight);
        let last = reaching(weight.checked_add(1)?) - 1;
        (weight > 0 && first <= last && self.weight(first) == weight).then_some((first, last))
    }
}

/// 1024 must give exactly 100, but its power is a hair above it in floating point.
fn curve(shares: u64) -> u64 {
    const NOISE: f64 = 1e-9;
    let log = (shares as f64).log2();
    let exponent = (log * log + 125.0 * log) / 612.0 - 7.0 / 34.0;
    (10_f64.powf(exponent) - NOISE).ceil() as u64
}

/// What becomes of a limit of swap on v2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swap {
    /// Nothing is written.
    Unset,
    /// `memory.swap.max` becomes `max`.
    Unlimited,
    /// It becomes this number of bytes.
    Bytes(u64),
    /// The runtime refuses the combination.
    Refused,
}

/// `memory.swap.max` for a limit of memory and swap together, as v1 and OCI have it; -1 is no limit,
/// 0 unset.
#[must_use]
pub(crate) fn swap_max(with_swap: i64, memory: i64) -> Swap {
    match (with_swap, memory) {
        (0, -1) | (-1, _) => Swap::Unlimited,
        (0, _) => Swap::Unset,
        (1.., -1) => Swap::Bytes(with_swap.unsigned_abs()),
        (1.., 1..) if with_swap >= memory => Swap::Bytes((with_swap - memory).unsigned_abs()),
        _ => Swap::Refused,
    }
}

/// `io.weight` for `blkioWeight`, where BFQ is not loaded.
#[must_use]
pub(crate) const fn io_weight(blkio_weight: u64) -> u64 {
    if blkio_weight < 10 { 0 } else { 1 + (blkio_weight - 10).saturating_mul(9_999) / 990 }
}

/// The quota per second that the systemd driver sets: rounded up to 1 % of a CPU.
#[must_use]
pub(crate) const fn systemd_quota(quota: u64, period: u64) -> u64 {
    const PERCENT: u64 = 10_000;
    (quota.saturating_mul(1_000_000) / if period == 0 { 1 } else { period })
        .div_ceil(PERCENT)
        .saturating_mul(PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares, weight by the linear formula, weight by the curve.
    const POINTS: [(u64, u64, u64); 28] = [
        (0, 0, 0),
        (1, 1, 1),
        (2, 1, 1),
        (3, 1, 2),
        (10, 1, 4),
        (100, 4, 17),
        (102, 4, 17),
        (128, 5, 21),
        (200, 8, 29),
        (256, 10, 35),
        (409, 16, 49),
        (500, 19, 58),
        (512, 20, 59),
        (768, 30, 80),
        (1000, 39, 99),
        (1024, 39, 100),
        (1536, 59, 138),
        (2000, 77, 170),
        (2048, 79, 174),
        (3072, 118, 240),
        (3333, 128, 256),
        (4096, 157, 303),
        (8192, 313, 532),
        (10_240, 391, 639),
        (16_384, 625, 942),
        (32_768, 1250, 1681),
        (65_536, 2500, 3023),
        (131_072, 5000, 5478),
    ];

    #[test]
    fn both_formulas_give_the_values_of_their_programs() {
        for (shares, linear, curve) in POINTS {
            assert_eq!(Formula::Linear.weight(shares), linear, "{shares}");
            assert_eq!(Formula::Curve.weight(shares), curve, "{shares}");
        }
        assert_eq!([262_143, 262_144, 262_145].map(|s| Formula::Curve.weight(s)), [10_000; 3]);
        assert_eq!(
            (Formula::Linear.weight(262_143), Formula::Linear.weight(1 << 40)),
            (9999, 10_000)
        );
    }

    #[test]
    fn a_weight_stands_for_a_range_of_shares() {
        for (weight, formula, range) in [
            (1, Formula::Linear, (2, 28)),
            (4, Formula::Linear, (81, 106)),
            (10, Formula::Linear, (238, 264)),
            (20, Formula::Linear, (501, 526)),
            (39, Formula::Linear, (999, 1024)),
            (79, Formula::Linear, (2047, 2073)),
            (157, Formula::Linear, (4092, 4118)),
            (313, Formula::Linear, (8182, 8207)),
            (625, Formula::Linear, (16_362, 16_387)),
            (2500, Formula::Linear, (65_518, 65_544)),
            (17, Formula::Curve, (95, 102)),
            (35, Formula::Curve, (256, 264)),
            (39, Formula::Curve, (295, 305)),
            (59, Formula::Curve, (511, 521)),
            (100, Formula::Curve, (1012, 1024)),
            (174, Formula::Curve, (2045, 2059)),
            (303, Formula::Curve, (4092, 4108)),
            (532, Formula::Curve, (8183, 8201)),
            (942, Formula::Curve, (16_372, 16_392)),
            (3023, Formula::Curve, (65_519, 65_544)),
        ] {
            assert_eq!(formula.shares(weight), Some(range), "{weight} {formula:?}");
        }
        assert_eq!((Formula::Curve.shares(0), Formula::Curve.shares(10_001)), (None, None));
    }

    #[test]
    fn every_range_is_the_inverse_of_its_formula() {
        for formula in Formula::ALL {
            for weight in 1..=10_000 {
                let Some((first, last)) = formula.shares(weight) else { continue };
                assert_eq!((formula.weight(first), formula.weight(last)), (weight, weight));
            }
        }
    }

    #[test]
    fn swap_is_what_the_sum_leaves() {
        for (with_swap, memory, expected) in [
            (0, 0, Swap::Unset),
            (-1, 0, Swap::Unlimited),
            (300, -1, Swap::Bytes(300)),
            (-1, -1, Swap::Unlimited),
            (-2, 0, Swap::Refused),
            (-1, 1000, Swap::Unlimited),
            (1000, 1000, Swap::Bytes(0)),
            (500, 200, Swap::Bytes(300)),
            (300, 400, Swap::Refused),
            (300, 0, Swap::Refused),
            (300, -300, Swap::Refused),
            (0, -1, Swap::Unlimited),
        ] {
            assert_eq!(swap_max(with_swap, memory), expected, "{with_swap} {memory}");
        }
    }

    #[test]
    fn weights_of_disks_and_quotas_are_those_of_runc() {
        assert_eq!([10, 750, 1000].map(io_weight), [1, 7475, 10_000]);
        assert_eq!(systemd_quota(50_000, 100_000), 500_000);
        assert_eq!(systemd_quota(12_345, 100_000), 130_000);
    }
}
