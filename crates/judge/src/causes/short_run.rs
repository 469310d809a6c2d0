//! C-SHORT-RUN: the run holds too few turns of the lightest group.
//!
//! A group that is served in turns of `q` seconds is ahead or behind by one turn at any instant,
//! which is `q / (T share)` of what it got in `T` seconds. The interval of a share covers that, so
//! that no verdict rests on it; where it is larger than the margin it is worth saying.

use crate::promise::Numbers;
use assay_verdict::wording::percent;
use assay_verdict::{Cause, Strength};

const CODE: &str = "C-SHORT-RUN";

/// The longest turn of BFQ, seconds (`timeout_sync`, 125 ms).
pub const TURN_OF_BFQ_S: f64 = 0.125;

/// A tick of the slowest kernels, seconds (HZ = 100): the least that a thread runs at a stretch.
pub const TICK_S: f64 = 0.01;

/// Compares one turn of the lightest group with what it got; `None` where it is small.
pub(super) fn find(numbers: &Numbers, turn_s: f64, within: f64) -> Option<Cause> {
    let least = numbers.expected.iter().map(|expected| expected.share).fold(1.0, f64::min);
    let error = turn_s / (numbers.window_s * least);
    let text = format!(
        "a turn of {:.0} ms is {} of what the lightest group is promised in {:.1} s",
        1e3 * turn_s,
        percent(error),
        numbers.window_s
    );
    (error > within).then(|| Cause {
        code: CODE.to_owned(),
        summary: "suspected: the run holds too few turns of the lightest group".to_owned(),
        evidence: vec![text],
        strength: Some(Strength::Fair),
    })
}
