//! C-SHORT-RUN: the run holds too few service slices of the lightest group.
//!
//! A group that is served in slices of `q` seconds is ahead or behind by one slice at any instant,
//! which is `q / (T share)` of what it got in `T` seconds. The interval of a share covers that, so
//! no verdict depends on it; the cause is reported where it exceeds the margin.

use assay_verdict::causes::{CauseEntry, FoundBy, PredictedEffect};
use assay_verdict::wording::percent;
use assay_verdict::{Cause, Strength};

use crate::estimates::Estimates;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-SHORT-RUN",
    what: "The run holds too few service slices of the lightest group, which is ahead or behind by one at any instant.",
    found_by: FoundBy::Suspicion,
    fingerprint: "A service slice (125 ms of BFQ, a tick of a CPU) is more than the margin of what the lightest group is promised in the window.",
    confirm: "A run of four times the length: the error falls to a quarter, without a bias over repeats. It leaves promises undecided and breaks none, since intervals cover it.",
    tests: &["longer"],
    effects: &[PredictedEffect::unrelated(&["requests"])],
    remedy: "A longer run (`at_most`), or shorter slices (`iosched/max_budget`).",
    source: "Relative error q / (T share) of any server with time slices",
};

const CODE: &str = ENTRY.code;

/// Longest time slice of BFQ in seconds (`timeout_sync`, 125 ms).
pub const BFQ_SLICE_S: f64 = 0.125;

/// Tick of the slowest kernels in seconds (HZ = 100): the shortest time that a thread runs.
pub const TICK_S: f64 = 0.01;

/// Compares one slice of the lightest group with what it got; `None` where it is small.
pub(super) fn find(numbers: &Estimates, slice_s: f64, within: f64) -> Option<Cause> {
    let least = numbers.promised().fold(1.0, f64::min);
    let error = slice_s / (numbers.window_s * least);
    let text = format!(
        "a service slice of {:.0} ms is {} of what the lightest group is promised in {:.1} s",
        1e3 * slice_s,
        percent(error),
        numbers.window_s
    );
    (error > within).then(|| Cause {
        code: CODE.to_owned(),
        summary: "suspected: the run holds too few service slices of the lightest group".to_owned(),
        evidence: vec![text],
        strength: Some(Strength::Fair),
    })
}
