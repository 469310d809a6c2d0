//! Which way a measure is better, as far as its name tells.

use assay_judge::trial_numbers::TrialNumber;
use assay_verdict::Measure;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// More is better: work done.
    Higher,
    /// Less is better: time waited.
    Lower,
    /// Neither, by itself: what one group gains another loses, and CPU time may be work or waste.
    Neither,
}

impl Direction {
    /// As it stands in the document.
    pub(super) fn word(self) -> Option<String> {
        match self {
            Self::Higher => Some("higher".to_owned()),
            Self::Lower => Some("lower".to_owned()),
            Self::Neither => None,
        }
    }
}

/// Of a number of a trial. A share is neither: what one group gains another loses.
pub(super) fn direction(number: &TrialNumber) -> Direction {
    let name = number.measure.as_str();
    match (number.of, Measure::parse(name)) {
        ("share", _) => Direction::Neither,
        (_, Some(measure)) => of_measure(measure),
        (_, None) => of_metric(name.split_once('.').map_or(name, |(_, own)| own)),
    }
}

/// Of a counter that is sampled.
fn of_measure(measure: Measure) -> Direction {
    match measure {
        Measure::IoBytes | Measure::IoIos => Direction::Higher,
        Measure::MemoryRefaults => Direction::Lower,
        Measure::CpuTime | Measure::MemoryCurrent | Measure::MemoryDirty => Direction::Neither,
    }
}

/// Of a workload's own number, whose name ends with its unit: what is done per second is better
/// when it is more, what is a time when it is less. Of other names nobody knows.
fn of_metric(name: &str) -> Direction {
    const MORE: [&str; 8] = ["per_s", "per_second", "iops", "teps", "_ios", "mb_s", "gb_s", "ops"];
    const LESS: [&str; 5] = ["_ns", "_us", "_ms", "_s", "seconds"];
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&MORE) || matches!(name, "read_bytes" | "write_bytes") {
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
    fn work_is_better_when_it_is_more_and_waiting_when_it_is_less() {
        for (name, wanted) in [
            ("read_iops", Direction::Higher),
            ("ops_per_s", Direction::Higher),
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
