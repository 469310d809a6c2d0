//! The longest wait that weights, quotas and the scheduler's lag explain.

use assay_facts::Available;
use assay_run_folder::RepeatRecord;
use assay_stats::progress::Lag;
use assay_verdict::wording::percent;

use crate::cpus::{self, Shared};
use crate::expected;
use crate::knob_value;
use crate::repeat::Repeat;
use crate::subject::Subject;

/// With less of the CPUs for the groups of the trial, nothing follows from their weights.
const LEAST_LEFT: f64 = 0.1;

/// The promised time.
pub(super) struct Bound {
    pub(super) seconds: f64,
    /// How it was derived; `None` where it was given.
    pub(super) derivation: Option<String>,
}

impl Bound {
    pub(super) fn given(seconds: f64) -> Self {
        Self { seconds, derivation: None }
    }

    /// By the part of the CPUs that the groups of the trial had at all, the group's share of that by
    /// weight, and the time for which its quotas stop it (docs/judging.md).
    pub(super) fn derived(
        subject: &Subject<'_>,
        repeat: &Repeat<'_>,
        group: &str,
    ) -> Result<Self, String> {
        let shared = shared(subject, repeat)?;
        let spent = cpus::spent(repeat, Some(&shared.set))?;
        let others = cpus::others(subject.trial, repeat, &shared, spent)? + spent.steal;
        let left = 1.0 - others;
        if left < LEAST_LEFT {
            return Err(format!(
                "no bound follows from weights: others used {} of the CPUs",
                percent(others)
            ));
        }
        let share = share(subject, repeat.record, group)?;
        let throttled_s = throttled_s(repeat.record, group, shared.demand(group));
        let mut ratios = vec![1.0 / left, 1.0 / share];
        // Each further level has a lag of its own.
        ratios.extend(group.matches('/').map(|_| 1.0));
        let seconds = Lag::LONGEST.longest_wait(&ratios, throttled_s);
        let mut text = format!(
            "by its share of {} by weight, {} of the CPUs for all groups, and a lag of {:.0} ms",
            percent(share),
            percent(left),
            (Lag::LONGEST.slice_s + Lag::LONGEST.tick_s) * 1e3
        );
        if throttled_s > 0.0 {
            text.push_str(&format!(", and {:.0} ms of its quota's periods", throttled_s * 1e3));
        }
        Ok(Self { seconds, derivation: Some(text) })
    }
}

/// The CPUs that the group can use at once.
pub(super) fn parallel(
    subject: &Subject<'_>,
    repeat: &Repeat<'_>,
    group: &str,
) -> Result<f64, String> {
    Ok(shared(subject, repeat)?.demand(group).max(1.0))
}

fn shared(subject: &Subject<'_>, repeat: &Repeat<'_>) -> Result<Shared, String> {
    Shared::in_repeat(subject.host, subject.trial, repeat.record)?
        .ok_or_else(|| "which CPUs the groups could use was not recorded".to_owned())
}

/// The part of the trial's CPU time that belongs to the group by weight if all groups want to run.
fn share(subject: &Subject<'_>, record: &RepeatRecord, group: &str) -> Result<f64, String> {
    const KNOB: &str = "cpu.weight";
    let loaded = subject.trial.groups.iter().filter(|group| !group.workloads.is_empty());
    let names: Vec<&str> = loaded.map(|group| group.name.as_str()).collect();
    let weighted = record.knobs.iter().any(|reading| reading.knob == KNOB);
    let shares = match weighted {
        true => expected::proportional(record, &names, KNOB, None)?,
        false => expected::equal(&names, None),
    };
    let index = names.iter().position(|name| *name == group);
    let share = index.and_then(|index| shares.get(index)).map(|expected| expected.share);
    share.filter(|share| *share > 0.0).ok_or_else(|| format!("`{group}` has no share by weight"))
}

/// The longest time for which a quota of the group, or of one above it, stops a group that uses it up on
/// this many CPUs.
fn throttled_s(record: &RepeatRecord, group: &str, cpus: f64) -> f64 {
    let ends = group.match_indices('/').map(|(end, _)| end).chain([group.len()]);
    let stopped = ends.filter_map(|end| {
        let name = group.get(..end)?;
        let quota = knob_value::number(record, name, "cpu.max").ok()?;
        Some(period_s(record, name)? * (1.0 - quota / cpus).max(0.0))
    });
    stopped.sum()
}

/// The period of a group's quota, which is the second number of v2's file.
fn period_s(record: &RepeatRecord, group: &str) -> Option<f64> {
    let reading = knob_value::find(record, group, "cpu.max")?;
    let text = match reading.also.get("cpu.cfs_period_us") {
        Some(Available::Value(text)) => text,
        _ => match &reading.at_start {
            Available::Value(text) => text.split_whitespace().nth(1)?,
            Available::NotAvailable(_) => return None,
        },
    };
    text.trim().parse::<f64>().ok().map(|period_us| period_us * 1e-6)
}
