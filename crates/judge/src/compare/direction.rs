//! Whether higher or lower values of a measure are better, as far as its name tells.

use crate::trial_numbers::TrialNumber;
use assay_record::terms::{Direction, Measure};

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

/// Words of what should not happen, beside those by which it is counted.
const ONE_FAILURE: [&str; 4] = ["error", "drop", "timeout", "failure"];

/// Units of rates beside those that are counted: with `_s` after any of them a name is that of a
/// rate, although `_s` alone is a time.
const RATES: [&str; 5] = ["b", "bit", "kbit", "mbit", "gbit"];

/// Direction of a workload metric, from the words of its name: lower is better for failures and
/// times, higher for work per second. Otherwise unknown.
fn of_metric(name: &str) -> Direction {
    let words: Vec<&str> = name.split('_').collect();
    let (last, before) = match words.as_slice() {
        [.., before, last] => (*last, *before),
        [last] => (*last, ""),
        [] => return Direction::Neither,
    };
    let is_second = matches!(last, "s" | "second");
    let is_rate = is_second && (words.contains(&"per") || is_work(before))
        || matches!(last, "ops" | "ios")
        || last.ends_with("iops")
        || last.ends_with("teps");
    if words.iter().any(|word| FAILURES.contains(word) || ONE_FAILURE.contains(word)) {
        Direction::Lower
    } else if is_rate || matches!(name, "read_bytes" | "write_bytes") {
        Direction::Higher
    } else if matches!(last, "ns" | "us" | "ms" | "s" | "seconds") {
        Direction::Lower
    } else {
        Direction::Neither
    }
}

fn is_work(word: &str) -> bool {
    [&RATES[..], &DATA, &WORK].iter().any(|units| units.contains(&word))
}

// Words in the names of workload metrics, from which their direction and their kind follow.

/// Units of data that are counted.
pub(super) const DATA: [&str; 7] = ["bytes", "kb", "mb", "gb", "kib", "mib", "gib"];

/// What is counted as work.
pub(super) const WORK: [&str; 7] =
    ["ios", "ops", "requests", "operations", "transactions", "packets", "messages"];

/// What should not happen, as it is counted.
pub(super) const FAILURES: [&str; 7] =
    ["errors", "drops", "dropped", "timeouts", "faults", "failed", "failures"];

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
            ("bandwidth_mib_s", Direction::Higher),
            ("read_kb_s", Direction::Higher),
            ("bytes_s", Direction::Higher),
            ("requests_s", Direction::Higher),
            ("tx_mbit_s", Direction::Higher),
            ("ops", Direction::Higher),
            ("drops", Direction::Lower),
            ("packet_drops", Direction::Lower),
            ("failed_ops", Direction::Lower),
            ("errors", Direction::Lower),
            ("errors_per_s", Direction::Lower),
            ("timeouts_per_s", Direction::Lower),
            ("major_faults", Direction::Lower),
            ("stops", Direction::Neither),
            ("hops", Direction::Neither),
            ("elapsed_seconds", Direction::Lower),
            ("seconds", Direction::Lower),
        ] {
            assert_eq!(of_metric(name), wanted, "{name}");
        }
    }
}
