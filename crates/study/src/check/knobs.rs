//! Values of knobs, and whether the scheduler of the disk accepts them.

use assay_diagnostic::Diagnostic;
use assay_knob::{Knob, Role};

use super::{Check, Complaint, template_of, when, whole};
use crate::code;
use crate::footprint::{footprint_part, takes_footprint};
use crate::syntax::{Bindings, Group, Scalar};
use crate::template::Templated;

/// The largest weight of BFQ (block/bfq-iosched.h: BFQ_MAX_WEIGHT).
const LARGEST_BFQ_WEIGHT: i64 = 1_000;

/// The largest `io.weight` (Documentation/admin-guide/cgroup-v2.rst).
const LARGEST_IO_WEIGHT: i64 = 10_000;

pub(super) fn check(check: &mut Check<'_>, group: &Group, path: &str) {
    for (name, values) in &group.knobs {
        let Some(knob) = assay_knob::find(name) else { continue };
        if let Some(finding) = not_settable(knob) {
            let expected = "expected a knob that can be set";
            check.add_at(&format!("{path}.knobs.{name}[0]"), expected, finding);
            continue;
        }
        for (index, value) in values.iter().enumerate() {
            let path = format!("{path}.knobs.{name}[{index}]");
            check.each_value(value, &path, &format!("`{name}`"), |scalar| {
                let text = scalar.to_string();
                if takes_footprint(knob) && footprint_part(&text).is_some() {
                    return None;
                }
                knob.check(&text).err().map(|message| Complaint {
                    code: code::KNOB_VALUE,
                    message,
                    expected: knob.range.to_string(),
                    remedy: format!("write {}", knob.range),
                })
            });
        }
        if name == "io.weight" {
            ladder(check, group, values, &format!("{path}.knobs.{name}"));
        }
    }
}

/// Reports files that are only readings, only trigger an action, or exist only in the root group.
fn not_settable(knob: &Knob) -> Option<Diagnostic> {
    let name = knob.name;
    let (message, hint) = match knob.role {
        Role::Reading => (
            format!("`{name}` is read-only: {}", knob.about),
            "remove it; readings are in the samples of a run",
        ),
        Role::Action => (
            format!("`{name}` triggers an action and holds no value: {}", knob.about),
            "remove it; an action happens once and is not a setting of a group",
        ),
        Role::Setting if knob.is_root_only() => (
            format!("`{name}` exists only in the root group, and groups of a study are below it"),
            "remove it; Assay sets what a study needs there, and the plan shows it",
        ),
        Role::Setting => return None,
    };
    Some(Diagnostic::error(code::NOT_A_SETTING, message).hint(hint))
}

/// `io.weight` goes up to 10000, but BFQ, which may implement it, accepts less.
fn ladder(check: &mut Check<'_>, group: &Group, values: &[Templated<Scalar>], path: &str) {
    let Some((disk_name, disk)) = check.disk_of(group) else { return };
    let Some(scheduler) = &disk.scheduler else { return };
    for (index, value) in values.iter().enumerate() {
        for bindings in check.combinations_of(&[template_of(scheduler), template_of(value)]) {
            if let Some(weight) = not_accepted(scheduler, value, &bindings) {
                let message = format!(
                    "the scheduler bfq does not accept the weight {weight}: its weights \
                     go from 1 to {LARGEST_BFQ_WEIGHT}{}",
                    when(&bindings)
                );
                let mut finding = Diagnostic::error(code::LADDER, message).hint(scaled(values));
                if let Some(span) = check.span(&format!("{path}[{index}]")) {
                    finding = finding.at(span, format!("expected 1 to {LARGEST_BFQ_WEIGHT}"));
                }
                if let Some(span) = check.span(&format!("disks.{disk_name}.scheduler")) {
                    finding = finding.at(span, "the scheduler is chosen here");
                }
                check.findings.push(finding);
                return;
            }
        }
    }
}

/// The weight that BFQ does not accept, if it is the scheduler under this combination. A weight outside
/// the knob's own range has been reported already.
fn not_accepted(
    scheduler: &Templated<String>,
    value: &Templated<Scalar>,
    bindings: &Bindings,
) -> Option<i64> {
    let is_bfq = scheduler.resolve(bindings).ok()? == "bfq";
    let weight = whole(&value.resolve(bindings).ok()?)?;
    (is_bfq && weight > LARGEST_BFQ_WEIGHT && weight <= LARGEST_IO_WEIGHT).then_some(weight)
}

/// The same proportions in smaller numbers, if there are any.
fn scaled(values: &[Templated<Scalar>]) -> String {
    let plain: Option<Vec<i64>> = values
        .iter()
        .map(|value| match value {
            Templated::Value(scalar) => whole(scalar),
            Templated::Template(_) => None,
        })
        .collect();
    let held = |weight: &i64| (1..=LARGEST_IO_WEIGHT).contains(weight);
    let reduced = plain.filter(|ladder| ladder.iter().all(held)).map(|ladder| {
        let divisor = ladder.iter().copied().fold(0, greatest_common_divisor).max(1);
        ladder.iter().map(|weight| weight / divisor).collect::<Vec<_>>()
    });
    match reduced.filter(|ladder| ladder.iter().all(|weight| *weight <= LARGEST_BFQ_WEIGHT)) {
        Some(ladder) => format!("write the same proportions in smaller numbers: {ladder:?}"),
        None => {
            format!("scale all weights to 1 to {LARGEST_BFQ_WEIGHT}, or use another scheduler")
        }
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
