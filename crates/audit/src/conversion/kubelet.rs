//! The kubelet of kubernetes 1.37 (pkg/kubelet/cm).

use super::{MAX_SHARES, MIN_SHARES};

/// `cpu.shares` for a request of CPU in thousandths.
#[must_use]
pub(crate) fn shares(milli: u64) -> u64 {
    (milli.saturating_mul(1024) / 1000).clamp(MIN_SHARES, MAX_SHARES)
}

/// The quota in microseconds for a limit of CPU in thousandths; none for 0.
#[must_use]
pub(crate) fn quota(milli: u64, period: u64) -> Option<u64> {
    (milli > 0).then(|| (milli.saturating_mul(period) / 1000).max(1000))
}

/// `memory.high` by `memoryThrottlingFactor`, in bytes; `most` is the limit or, without one, what the
/// node can allocate. None where nothing is written.
#[must_use]
pub(crate) fn memory_high(request: u64, most: u64, factor: f64, page: u64) -> Option<u64> {
    if request >= most || page == 0 {
        return None;
    }
    let high = request as f64 + factor * (most - request) as f64;
    let high = high as u64 / page * page;
    (high > request).then_some(high)
}

#[cfg(test)]
mod tests {
    use super::super::runtime::Formula;
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn requests_become_shares_and_linear_weights() {
        for (milli, expected) in
            [(0, 2), (100, 102), (250, 256), (500, 512), (1000, 1024), (1_000_000_000, 262_144)]
        {
            assert_eq!(shares(milli), expected);
        }
        let cpus = [0, 1, 2, 4, 8, 16, 64].map(|cpus| Formula::Linear.weight(shares(cpus * 1000)));
        assert_eq!(cpus, [1, 39, 79, 157, 313, 625, 2500]);
        assert_eq!(
            [0, 5, 500].map(|milli| quota(milli, 100_000)),
            [None, Some(1000), Some(50_000)]
        );
    }

    #[test]
    fn memory_high_is_that_of_the_end_to_end_tests() {
        for (request, limit, expected) in [
            (64, 512, 489_893_888),
            (256, 512, 510_025_728),
            (480, 512, 533_512_192),
            (64, 256, 248_299_520),
            (160, 320, 318_767_104),
        ] {
            let high = memory_high(request * MIB, limit * MIB, 0.9, 4096);
            assert_eq!(high, Some(expected), "{request} {limit}");
        }
        assert_eq!(memory_high(512 * MIB, 512 * MIB, 0.9, 4096), None);
        assert_eq!(memory_high(256 * MIB, 512 * MIB, 1.0, 4096), Some(536_870_912));
    }
}
