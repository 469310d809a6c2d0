//! Whether a question lies within what the model was compared with.

use crate::asked::Asked;
use crate::question::{Device, Scheduler};

/// Groups of the configurations of the validation (docs/predicting.md).
pub const GROUPS: std::ops::RangeInclusive<usize> = 2..=64;

/// Requests that each group kept outstanding there.
pub const DEPTHS: std::ops::RangeInclusive<u32> = 1..=64;

/// Bytes of a request there.
pub const BYTES: std::ops::RangeInclusive<u64> = 4096..=262_144;

/// The largest weight by the smallest there.
pub const SPREAD: f64 = 10.0;

/// Why the question is outside, each reason once; empty where it is not.
#[must_use]
pub fn outside(asked: &Asked) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut unless = |holds: bool, why: String| {
        if !holds {
            reasons.push(why);
        }
    };
    let question = &asked.question;
    let members = &question.members;
    let count = members.len();
    unless(
        GROUPS.contains(&count),
        format!("{count} groups, compared with {} to {}", GROUPS.start(), GROUPS.end()),
    );
    for depth in some(members.iter().map(|member| member.depth).filter(|one| !DEPTHS.contains(one)))
    {
        unless(
            false,
            format!("{depth} requests outstanding, compared with {} to {}", DEPTHS.start(), DEPTHS.end()),
        );
    }
    for bytes in some(members.iter().map(|member| member.bytes).filter(|one| !BYTES.contains(one))) {
        unless(
            false,
            format!("requests of {bytes} bytes, compared with {} to {}", BYTES.start(), BYTES.end()),
        );
    }
    let weights = || members.iter().map(|member| member.weight);
    let spread = weights().fold(0.0, f64::max) / weights().fold(f64::INFINITY, f64::min);
    unless(
        spread <= SPREAD,
        format!("weights that differ by a factor of {spread:.0}, compared with up to {SPREAD:.0}"),
    );
    unless(
        matches!(question.scheduler, Scheduler::Bfq(_)) && asked.obeyed_by.as_deref() != Some("iocost"),
        "another scheduler than bfq".to_owned(),
    );
    unless(
        matches!(question.device, Device::Loop { .. }),
        "another disk than a loop device".to_owned(),
    );
    reasons.extend(asked.assumed.iter().map(|what| format!("not measured here: {what}")));
    reasons.extend(asked.left_out.iter().map(|what| format!("not in the model: {what}")));
    reasons
}

/// The first of those that are not in order; one is enough.
fn some<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    found.next()
}
