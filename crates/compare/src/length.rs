//! Totals of workloads over whole repeats, which depend on how long these were.

use assay_judge::trial_numbers::TrialNumber;
use assay_run_folder::TrialRecord;

/// Metrics that are totals (fio's).
const TOTALS: [&str; 4] = ["read_bytes", "write_bytes", "read_ios", "write_ios"];

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
    number.of == "number" && TOTALS.contains(&own)
}

/// Mean time of a repeat from release to stop.
fn seconds(trial: &TrialRecord) -> Option<f64> {
    let each = trial.repeats.iter().filter(|repeat| repeat.fault.is_none());
    let each = each.map(|one| one.stopped_ns.saturating_sub(one.released_ns) as f64 * 1e-9);
    let (sum, count) = each.fold((0.0, 0.0), |(sum, count), one| (sum + one, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
