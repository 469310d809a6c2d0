//! What was promised to each group, and the data to compare it with.

use assay_record::run_folder::{PromiseRecord, Reference};
use assay_record::terms::Measure;
use assay_stats::start::Quantity;

use crate::cpus::Shared;
use crate::estimates::{Observed, PromiseData};
use crate::expected::{self, Expected};
use crate::queue::{disk_of, is_measured};
use crate::repeat::Repeat;
use crate::subject::Subject;

/// Estimation input of a promise for some of the repeats.
pub(super) fn promise_data<'s>(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    measure: Measure,
    repeats: &'s [Repeat<'_>],
) -> Result<PromiseData<'s>, String> {
    let first = repeats.first().ok_or("no repeat can be judged")?;
    let kind = promise.is.kind();
    let expected = match promise.is.to() {
        _ if kind.divides() => {
            let shared = shared(subject, measure, first)?;
            expected::shares(&promise.is, first.record, &subject.groups, shared.as_ref())?
        }
        Reference::Nothing => return Err("threads and pages have no time series".to_owned()),
        Reference::Value(bound) => bounds(subject.groups.len(), bound)?,
        Reference::Knob(knob) if expected::is_dirty_setting(knob) => {
            expected::threshold(repeats, subject.groups.len(), knob)?
        }
        Reference::Knob(knob) => expected::bounds(first.record, &subject.groups, knob)?,
    };
    if let Some(zero) = expected.iter().position(|expected| expected.share <= 0.0) {
        return Err(format!("the promised share of `{}` is zero", subject.groups[zero]));
    }
    let observed = repeats.iter().map(|repeat| {
        let (observed, judged) = (repeat.observed(measure)?, repeat.grid(measure)?);
        Ok(Observed { number: repeat.number, observed, judged })
    });
    Ok(PromiseData {
        groups: subject.groups.iter().map(|name| (*name).to_owned()).zip(expected).collect(),
        quantity: if kind.divides() { Quantity::Share } else { Quantity::Rate },
        unit: unit(measure),
        side: kind.side(),
        within: promise.within,
        part: subject.part,
        every: promise.every,
        repeats: observed.collect::<Result<_, String>>()?,
    })
}

/// The least amount that is served at once: a request, a page, and of CPU time a tick of the
/// slowest clock (kernel/Kconfig.hz: 100 a second).
pub(crate) fn unit(measure: Measure) -> f64 {
    match measure {
        Measure::IoIos | Measure::MemoryRefaults => 1.0,
        Measure::IoBytes | Measure::MemoryCurrent | Measure::MemoryDirty => 4096.0,
        Measure::CpuTime => 0.01,
    }
}

/// The shared resource: one disk, or CPUs that all groups may use.
fn shared(
    subject: &Subject<'_>,
    measure: Measure,
    repeat: &Repeat<'_>,
) -> Result<Option<Shared>, String> {
    one_disk(subject, measure)?;
    match measure.is_cpu() {
        true => Shared::in_repeat(subject.host, subject.trial, repeat.record),
        false => Ok(None),
    }
}

/// Shares of different disks cannot be compared: each is divided separately.
fn one_disk(subject: &Subject<'_>, measure: Measure) -> Result<(), String> {
    if !measure.is_io() {
        return Ok(());
    }
    let groups = subject.trial.groups.iter().filter(|group| is_measured(group));
    let mut disks: Vec<&str> = groups.filter_map(|group| disk_of(subject.trial, group)).collect();
    disks.sort_unstable();
    disks.dedup();
    if disks.len() > 1 {
        return Err(format!(
            "the measured groups use different disks ({}), which are divided separately",
            disks.join(", ")
        ));
    }
    Ok(())
}

fn bounds(groups: usize, bound: f64) -> Result<Vec<Expected>, String> {
    if !bound.is_finite() || bound <= 0.0 {
        return Err(format!("a bound of {bound} per second has no relative error"));
    }
    Ok(vec![Expected::plain(None, bound); groups])
}
