//! Whether a question lies within what the model was compared with.

use crate::asked::Asked;
use crate::question::{Device, Scheduler};

/// Groups of the configurations of the validation (docs/predicting.md).
pub(crate) const GROUPS: std::ops::RangeInclusive<usize> = 2..=64;

/// Requests that each group kept outstanding there.
pub(crate) const DEPTHS: std::ops::RangeInclusive<u32> = 1..=64;

/// Bytes of a request there.
pub(crate) const BYTES: std::ops::RangeInclusive<u64> = 4096..=262_144;

/// The largest weight by the smallest there.
pub(crate) const SPREAD: f64 = 10.0;

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
    let deep = members.iter().map(|member| member.depth).find(|depth| !DEPTHS.contains(depth));
    if let Some(depth) = deep {
        let (least, most) = (DEPTHS.start(), DEPTHS.end());
        unless(false, format!("{depth} requests outstanding, compared with {least} to {most}"));
    }
    let large = members.iter().map(|member| member.bytes).find(|bytes| !BYTES.contains(bytes));
    if let Some(bytes) = large {
        let (least, most) = (BYTES.start(), BYTES.end());
        unless(false, format!("requests of {bytes} bytes, compared with {least} to {most}"));
    }
    let weights = || members.iter().map(|member| member.weight);
    let spread = weights().fold(0.0, f64::max) / weights().fold(f64::INFINITY, f64::min);
    unless(
        spread <= SPREAD,
        format!("weights that differ by a factor of {spread:.0}, compared with up to {SPREAD:.0}"),
    );
    unless(
        matches!(question.scheduler, Scheduler::Bfq(_))
            && asked.obeyed_by.as_deref() != Some("iocost"),
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
