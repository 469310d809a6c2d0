//! The longest wait that weights, quotas and the scheduler's lag explain.

use assay_host::facts::Available;
use assay_record::run_folder::{RepeatRecord, knob_value};
use assay_stats::progress::Lag;

use crate::cpus::{self, Shared};
use crate::expected;
use crate::repeat::Repeat;
use crate::subject::Subject;
use crate::verdict::wording::percent;

/// With less of the CPUs for the groups of the trial, nothing follows from their weights.
const LEAST_LEFT: f64 = 0.1;

/// The promised time.
pub(super) struct Bound {
    pub(super) seconds: f64,
    /// How it was derived; `None` where it was given.
    pub(super) derivation: Option<String>,
    /// By how much a wait may be longer without a fault of the scheduler: the CPU time that others and
    /// the hypervisor took may have been taken at once, while a derived bound assumes its mean. 0 for
    /// a time that was given.
    pub(super) at_once_s: f64,
}

impl Bound {
    pub(super) fn given(seconds: f64) -> Self {
        Self { seconds, derivation: None, at_once_s: 0.0 }
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
        let throttled_s = throttled_s(repeat.record, group, &shared);
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
        Ok(Self { seconds, derivation: Some(text), at_once_s: others * repeat.window_s() })
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

/// The longest time for which a quota of the group, or of one above it, stops it. Its own is used up by
/// its threads, one above also by other groups, on all CPUs.
fn throttled_s(record: &RepeatRecord, group: &str, shared: &Shared) -> f64 {
    let ends = group.match_indices('/').map(|(end, _)| end).chain([group.len()]);
    let stopped = ends.filter_map(|end| {
        let name = group.get(..end)?;
        let quota = knob_value::number(record, name, "cpu.max").ok()?;
        let cpus = if name == group { shared.demand(group) } else { shared.count() };
        Some(stopped_s(quota, period_s(record, name)?, cpus))
    });
    stopped.sum()
}

/// The longest time for which one quota, in CPUs, stops a group. Used up at once it lasts for the part
/// `quota / cpus` of its period. Threads notice that at a tick, so that each CPU may run for a tick
/// more, which the following periods repay before anybody runs.
fn stopped_s(quota: f64, period_s: f64, cpus: f64) -> f64 {
    if quota <= 0.0 || period_s <= 0.0 || quota >= cpus {
        return 0.0;
    }
    let repaid = (Lag::LONGEST.tick_s * cpus / (quota * period_s)).ceil();
    period_s * (1.0 - quota / cpus + repaid)
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

#[cfg(test)]
mod tests {
    use super::stopped_s;

    #[test]
    fn a_quota_stops_for_the_rest_of_its_period_and_those_that_repay_a_tick() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        // 50 ms in 100 ms: a tick of 10 ms is repaid within the next period.
        near(stopped_s(0.5, 0.1, 1.0), 0.15);
        // 3 ms in 100 ms on four CPUs: four ticks are repaid in 14 periods.
        near(stopped_s(0.03, 0.1, 4.0), 1.49925);
        near(stopped_s(2.0, 0.1, 2.0), 0.0);
        near(stopped_s(f64::INFINITY, 0.1, 2.0), 0.0);
    }
}
