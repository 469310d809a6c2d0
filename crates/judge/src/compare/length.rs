//! Totals of workloads over whole repeats, which depend on how long these were.

use crate::trial_numbers::TrialNumber;
use assay_record::run_folder::TrialRecord;

use crate::compare::direction::{DATA, FAILURES, WORK};

/// Last words of the names of totals, beside data, work and failures.
const COUNTED: [&str; 4] = ["events", "iterations", "count", "total"];

/// Words of names that are levels or means, which do not grow with time.
const LEVELS: [&str; 12] = [
    "per", "peak", "max", "min", "mean", "rss", "resident", "size", "used", "free", "memory",
    "heap",
];

/// Totals of trials whose repeats differ in length by more than the margin are not comparable: the
/// longer one did more, whatever its speed.
pub(super) fn leave_out_totals(
    numbers: &mut [(TrialNumber, TrialNumber)],
    (a, b): (&TrialRecord, &TrialRecord),
    within: f64,
) {
    let (Some(of_a), Some(of_b)) = (seconds(a), seconds(b)) else { return };
    if of_a.max(of_b) <= (1.0 + within) * of_a.min(of_b) {
        return;
    }
    let why = format!(
        "it is the total of a whole repeat, which took {of_a:.1} s in A and {of_b:.1} s in B"
    );
    for (a, b) in numbers.iter_mut().filter(|(a, _)| is_total(a)) {
        (a.found, b.found) = (Err(why.clone()), Err(why.clone()));
    }
}

fn is_total(number: &TrialNumber) -> bool {
    let own = number.measure.split_once('.').map_or("", |(_, own)| own);
    number.of == "number" && is_count(own)
}

/// Whether the words of a metric's name say that it is a count over a whole repeat.
fn is_count(own: &str) -> bool {
    let words = || own.split('_');
    let counted = [&COUNTED[..], &DATA, &WORK, &FAILURES];
    words().next_back().is_some_and(|last| counted.iter().any(|words| words.contains(&last)))
        && !words().any(|word| LEVELS.contains(&word))
}

/// Mean time of a repeat from release to stop.
fn seconds(trial: &TrialRecord) -> Option<f64> {
    let each = trial.repeats.iter().filter(|repeat| repeat.fault.is_none());
    let each = each.map(|one| one.stopped_ns.saturating_sub(one.released_ns) as f64 * 1e-9);
    let (sum, count) = each.fold((0.0, 0.0), |(sum, count), one| (sum + one, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_totals_and_rates_are_not() {
        for (name, wanted) in [
            ("read_bytes", true),
            ("write_ios", true),
            ("completed_mib", true),
            ("requests", true),
            ("packet_drops", true),
            ("errors", true),
            ("bytes_s", false),
            ("errors_per_s", false),
            ("bytes_per_op", false),
            ("peak_bytes", false),
            ("rss_mib", false),
            ("read_p99_ns", false),
            ("user_cpu_percent", false),
        ] {
            assert_eq!(is_count(name), wanted, "{name}");
        }
    }
}
