//! The kernel between its own units (kernel/sched/core.c: cpu_weight_write_u64, cpu_weight_read_u64).

/// Shares of a group of this `cpu.weight`.
#[must_use]
pub const fn shares(weight: u64) -> u64 {
    weight.saturating_mul(1024).saturating_add(50) / 100
}

/// The `cpu.weight` that these shares read as. Clamped to 1 since Linux 6.12: before, a group of idle
/// class, whose shares are 3, read 0.
#[must_use]
pub const fn weight(shares: u64) -> u64 {
    let weight = shares.saturating_mul(100).saturating_add(512) / 1024;
    if weight < 1 {
        1
    } else if weight > 10_000 {
        10_000
    } else {
        weight
    }
}

/// Shares of a group with `cpu.idle` = 1 (WEIGHT_IDLEPRIO).
pub const IDLE_SHARES: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_shares_are_rounded_to_the_nearest() {
        for (asked, expected) in [(1, 10), (100, 1024), (10_000, 102_400)] {
            assert_eq!(shares(asked), expected);
        }
        for (asked, expected) in [
            (2, 1),
            (IDLE_SHARES, 1),
            (10, 1),
            (100, 10),
            (102, 10),
            (128, 13),
            (200, 20),
            (256, 25),
            (409, 40),
            (500, 49),
            (512, 50),
            (768, 75),
            (1000, 98),
            (1024, 100),
            (1536, 150),
            (2000, 195),
            (2048, 200),
            (3072, 300),
            (3333, 325),
            (4096, 400),
            (8192, 800),
            (10_240, 1000),
            (16_384, 1600),
            (32_768, 3200),
            (65_536, 6400),
            (131_072, 10_000),
        ] {
            assert_eq!(weight(asked), expected, "{asked}");
        }
    }
}
