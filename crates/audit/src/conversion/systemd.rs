//! systemd (src/core/cgroup.c).

use super::{MAX_SHARES, MIN_SHARES};

/// `io.bfq.weight` for `IOWeight=` since v250: BFQ's range ends at 1000, that of `io.weight` at 10000. Up to
/// 100 nothing changes, and what is above is compressed to an eleventh.
#[must_use]
pub(crate) const fn bfq_weight(io_weight: u64) -> u64 {
    if io_weight <= 100 { io_weight } else { 100 + (io_weight - 100).saturating_mul(900) / 9900 }
}

/// `blkio.weight` for `IOWeight=` on v1 and hybrid hosts.
#[must_use]
pub(crate) fn blkio_weight(io_weight: u64) -> u64 {
    io_weight.saturating_mul(5).clamp(10, 1000)
}

/// `blkio.bfq.weight` for `IOWeight=` on v1 and hybrid hosts: translated twice.
#[must_use]
pub(crate) fn blkio_bfq_weight(io_weight: u64) -> u64 {
    bfq_weight(blkio_weight(io_weight))
}

/// `cpu.shares` for `CPUWeight=` on v1 and hybrid hosts.
#[must_use]
pub(crate) fn shares(cpu_weight: u64) -> u64 {
    (cpu_weight.saturating_mul(1024) / 100).clamp(MIN_SHARES, MAX_SHARES)
}

/// `cpu.weight` for `CPUShares=`, which v258 no longer knows.
#[must_use]
pub(crate) fn weight(cpu_shares: u64) -> u64 {
    (cpu_shares.saturating_mul(100) / 1024).clamp(1, 10_000)
}

/// Quota and period in microseconds for `CPUQuota=`, given as CPU time in a second, and
/// `CPUQuotaPeriodSec=`.
#[must_use]
pub(crate) fn quota(per_second: u64, period: u64) -> (u64, u64) {
    const SECOND: u64 = 1_000_000;
    const SHORTEST: u64 = 1_000;
    let needed = SHORTEST * SECOND / per_second.max(1);
    let period = period.max(SHORTEST).max(needed).min(SECOND);
    let quota = u128::from(per_second) * u128::from(period) / u128::from(SECOND);
    (u64::try_from(quota).unwrap_or(u64::MAX).max(SHORTEST), period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_weights_under_bfq_are_compressed_above_100() {
        let asked = [100, 200, 300, 500, 666, 1000, 10_000];
        assert_eq!(asked.map(bfq_weight), [100, 109, 118, 136, 151, 181, 1000]);
    }

    #[test]
    fn io_weights_on_v1_are_translated_twice() {
        assert_eq!([10, 50, 100, 200, 10_000].map(blkio_bfq_weight), [50, 113, 136, 181, 181]);
        assert_eq!([1, 100, 500].map(blkio_weight), [10, 500, 1000]);
    }

    #[test]
    fn shares_and_weights_are_rounded_down() {
        let points = [
            (2, 1),
            (3, 1),
            (100, 9),
            (102, 9),
            (128, 12),
            (200, 19),
            (256, 25),
            (409, 39),
            (500, 48),
            (512, 50),
            (768, 75),
            (1000, 97),
            (1024, 100),
            (1536, 150),
            (2000, 195),
            (3333, 325),
            (65_536, 6400),
            (131_072, 10_000),
        ];
        for (asked, expected) in points {
            assert_eq!(weight(asked), expected, "{asked}");
        }
        assert_eq!((shares(1), shares(100), shares(10_000)), (10, 1024, 102_400));
    }

    #[test]
    fn a_quota_never_becomes_shorter_than_the_kernel_takes() {
        assert_eq!(quota(500_000, 100_000), (50_000, 100_000));
        assert_eq!(quota(5_000, 100_000), (1_000, 200_000));
        assert_eq!(quota(100, 100_000), (1_000, 1_000_000));
    }
}
