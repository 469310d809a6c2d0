//! CPU bandwidth: a quota in each period.

/// Shortest CFS quota and period that the kernel accepts, in microseconds (kernel/sched/core.c:
/// min_cfs_quota_period).
const SHORTEST_PERIOD_US: u64 = 1_000;

/// Longest CFS period that the kernel accepts, in microseconds (max_cfs_quota_period).
const LONGEST_PERIOD_US: u64 = 1_000_000;

/// The period of a new group, in microseconds.
const DEFAULT_PERIOD_US: u64 = 100_000;

/// Longest quota that the kernel accepts, in microseconds (kernel/sched/sched.h: MAX_BW).
const LONGEST_QUOTA_US: u64 = (1 << 44) - 1;

/// Parses a `cpu.max` text into quota (`None` for no limit) and period, both in microseconds.
pub(crate) fn cpu_bandwidth(value: &str) -> Option<(Option<u64>, u64)> {
    let mut words = value.split_whitespace();
    let quotas = SHORTEST_PERIOD_US..=LONGEST_QUOTA_US;
    let quota = match words.next()? {
        "max" => None,
        number => Some(number.parse().ok().filter(|quota| quotas.contains(quota))?),
    };
    let period = words.next().map_or(Some(DEFAULT_PERIOD_US), |word| word.parse().ok())?;
    let periods = SHORTEST_PERIOD_US..=LONGEST_PERIOD_US;
    (words.next().is_none() && periods.contains(&period)).then_some((quota, period))
}

/// Normalizes a value for the kernel. `50 %` is half of one CPU, `200 %` is two CPUs. If the
/// default period made the quota too short, the longest period is used.
pub(crate) fn normal(value: &str) -> Option<String> {
    let Some(percent) = value.trim_end().strip_suffix('%') else {
        return cpu_bandwidth(value).map(|_| value.to_owned());
    };
    let share: f64 = percent.trim_end().parse().ok()?;
    let quota_in = |period: u64| (share / 100.0 * period as f64).round();
    let period = if quota_in(DEFAULT_PERIOD_US) < SHORTEST_PERIOD_US as f64 {
        LONGEST_PERIOD_US
    } else {
        DEFAULT_PERIOD_US
    };
    let text = format!("{:.0} {period}", quota_in(period));
    cpu_bandwidth(&text).map(|_| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_relative_to_one_cpu() {
        for (percent, text) in [
            ("50%", "50000 100000"),
            ("50 %", "50000 100000"),
            ("200%", "200000 100000"),
            ("12.5 %", "12500 100000"),
            ("0.5%", "5000 1000000"),
        ] {
            assert_eq!(normal(percent).as_deref(), Some(text));
        }
        for invalid in ["0%", "0.05%", "-5%", "%", "half%", "nan%", "inf%", "1e30%"] {
            assert_eq!(normal(invalid), None, "{invalid}");
        }
    }
}
