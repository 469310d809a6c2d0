//! Whether higher or lower values of a measure are better, as far as its name tells.

use assay_judge::trial_numbers::TrialNumber;
use assay_terms::{Direction, Measure};

/// Direction of a number of a trial. A share has none: what one group gains another loses.
pub(super) fn direction(number: &TrialNumber) -> Direction {
    let name = number.measure.as_str();
    match (number.of, Measure::parse(name)) {
        ("share", _) => Direction::Neither,
        ("in_place", _) => Direction::Higher,
        (_, Some(measure)) => measure.info().better,
        (_, None) => of_metric(name.split_once('.').map_or(name, |(_, own)| own)),
    }
}

/// Direction of a workload metric, from the unit at the end of its name: higher is better for work
/// per second, lower for times. Otherwise unknown.
fn of_metric(name: &str) -> Direction {
    const MORE: [&str; 8] = ["per_s", "per_second", "iops", "teps", "_ios", "mb_s", "gb_s", "ops"];
    const LESS: [&str; 5] = ["_ns", "_us", "_ms", "_s", "seconds"];
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    // `throughput_ops_s` and `steps_per_cpu_s` are rates, although they end as a time does.
    let is_rate =
        ends(&MORE) || name.ends_with("ops_s") || (name.ends_with("_s") && name.contains("_per_"));
    if is_rate || matches!(name, "read_bytes" | "write_bytes") {
        Direction::Higher
    } else if ends(&LESS) {
        Direction::Lower
    } else {
        Direction::Neither
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_work_and_less_waiting_are_better() {
        for (name, wanted) in [
            ("read_iops", Direction::Higher),
            ("ops_per_s", Direction::Higher),
            ("throughput_ops_s", Direction::Higher),
            ("steps_per_cpu_s", Direction::Higher),
            ("cpu_us_per_op", Direction::Neither),
            ("harmonic_mean_teps", Direction::Higher),
            ("read_bytes", Direction::Higher),
            ("read_p99_ns", Direction::Lower),
            ("runtime_s", Direction::Lower),
            ("user_cpu_percent", Direction::Neither),
            ("peak_bytes", Direction::Neither),
        ] {
            assert_eq!(of_metric(name), wanted, "{name}");
        }
    }
}
