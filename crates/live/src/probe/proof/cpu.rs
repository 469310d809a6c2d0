//! CPU time: a quota caps it, weights divide it.

use std::path::Path;

use assay_conform::{Interval, Running, Window};
use assay_sys::kernel::{Error, affinity};

use super::{Proof, weight};
use crate::probe::Verdict;
use crate::probe::beside::{Beside, COPY, TWIN};
use crate::probe::limit::{cpus_file, cpus_of};

/// A copy has no more CPUs.
const MOST: f64 = 0.2;
/// And no less, however little others leave: a tick of 4 ms may already be most of it.
const LEAST: f64 = 0.05;
/// In microseconds; the kernel's default.
const PERIOD: f64 = 100_000.0;
/// The kernel hands out a quota in slices of 5 ms, which may be used in the next period (sched-bwc.rst).
pub(super) const SLACK: f64 = 0.15;

/// A thread wants a whole CPU: the copy gets its quota, the twin more. Both have the lowest weight, so that they take what is idle.
pub(super) fn max(beside: &Beside<'_>, amount: f64) -> Result<Proof, Error> {
    for group in [COPY, TWIN] {
        set_weight(beside, group, 1)?;
    }
    let free = use_of(beside, TWIN, 3)?;
    let half = free.iter().map(Window::busy).sum::<f64>() / free.len() as f64 / 2.0;
    let quota_us = (amount.min(half.clamp(LEAST, MOST)) * PERIOD).max(1_000.0);
    if beside.is_v2() {
        beside.write(COPY, "cpu.max", &format!("{quota_us:.0} {PERIOD:.0}"))?;
    } else {
        beside.write(COPY, "cpu.cfs_period_us", &format!("{PERIOD:.0}"))?;
        beside.write(COPY, "cpu.cfs_quota_us", &format!("{quota_us:.0}"))?;
    }
    let capped = use_of(beside, COPY, 5)?;
    let throttled = beside.keyed(COPY, "cpu.stat", "nr_throttled");
    Ok(judge_max(quota_us / PERIOD, &capped, &free, throttled))
}

/// CPU time that a busy thread got in windows of whole periods.
fn use_of(beside: &Beside<'_>, group: usize, windows: usize) -> Result<Vec<Window>, Error> {
    let probe = beside.start(group, "spin")?;
    // What it saved before is used up first.
    beside.pause(0.15)?;
    beside.windows(windows, 0.3, || Ok(vec![probe.cpu_ns()?]))
}

fn judge_max(quota: f64, capped: &[Window], free: &[Window], throttled: u64) -> Proof {
    let busy = |windows: &[Window]| {
        Interval::of_mean(&windows.iter().map(Window::busy).collect::<Vec<f64>>())
    };
    let (used, free) = (busy(capped), busy(free).mean);
    let seen = format!("copy with {quota:.2} CPUs: used {used} CPUs, throttled {throttled} times");
    let twin = format!("twin without a quota: {free:.2} CPUs");
    if used.low > quota * (1.0 + SLACK) {
        return Proof::not_enforced(format!("a copy with {quota:.2} CPUs used {:.2}", used.mean))
            .with(seen)
            .with(twin);
    }
    // Beside others its use varies, and being throttled shows that the quota was what held it.
    let is_capped = used.mean <= quota * (1.0 + SLACK) && throttled >= 3;
    if is_capped && free >= 1.5 * quota {
        return Proof::enforced(seen).with(twin);
    }
    let reason = match free >= 1.5 * quota {
        true => "the copy's use varies too much",
        false => "others left the twin no more CPU time than the quota",
    };
    Proof::not_provable(reason).with(seen).with(twin)
}

/// Copy and twin share a CPU, first with weights 2 and 6, then with equal ones: so little that a group beside them with the usual
/// weight loses hardly any of it.
pub(super) fn weight(beside: &Beside<'_>, group: &Path) -> Result<Proof, Error> {
    let cpu = cpu_of(beside, group)?;
    let start = |group| beside.start(group, &format!("spin cpu={cpu}"));
    let probes = [start(COPY)?, start(TWIN)?];
    let ops = beside.root.read_trimmed("/sys/kernel/sched_ext/root/ops").ok();
    let scheduler = ops.map_or_else(String::new, |ops| format!(", where {ops} schedules"));
    until_shown(
        |at| {
            set_weight(beside, COPY, 2)?;
            set_weight(beside, TWIN, [6, 2][at])?;
            beside.pause(0.1)?;
            beside.windows(6, 0.25, || probes.iter().map(Running::cpu_ns).collect())
        },
        &scheduler,
    )
}

/// Reads windows with different weights and with equal ones. If the shares of so few vary too much, twice as many nearly halve their
/// interval.
fn until_shown(
    mut read: impl FnMut(usize) -> Result<Vec<Window>, Error>,
    scheduler: &str,
) -> Result<Proof, Error> {
    let mut windows = [Vec::new(), Vec::new()];
    let mut tried = || {
        for (at, all) in windows.iter_mut().enumerate() {
            all.extend(read(at)?);
        }
        Ok(judge_weight(&windows[0], &windows[1], scheduler))
    };
    let proof = tried()?;
    // Without CPU time nothing was measured, and more windows would not help.
    let varies = proof.verdict == Verdict::NotProvable && !proof.measured.is_empty();
    if varies { tried() } else { Ok(proof) }
}

/// A CPU on which copy and twin may run.
fn cpu_of(beside: &Beside<'_>, group: &Path) -> Result<u16, Error> {
    let parent = group.parent().unwrap_or(group);
    let cpu = match beside.is_v2() && beside.root.exists(parent.join(cpus_file(true))) {
        true => cpus_of(beside.root, parent, true)?.iter().last(),
        false => affinity::allowed_cpus(std::process::id())?.pop(),
    };
    Ok(cpu.unwrap_or(0))
}

/// A weight on the scale of v2.
fn set_weight(beside: &Beside<'_>, group: usize, weight: u64) -> Result<(), Error> {
    match beside.is_v2() {
        true => beside.write(group, "cpu.weight", &weight.to_string()),
        false => beside.write(group, "cpu.shares", &(weight * 1024 / 100).max(2).to_string()),
    }
}

fn judge_weight(divided: &[Window], equal: &[Window], scheduler: &str) -> Proof {
    let windows = divided.iter().chain(equal);
    let busy = windows.map(Window::busy).sum::<f64>() / (divided.len() + equal.len()) as f64;
    if busy < 0.05 {
        return Proof::not_provable(format!("others left {:.0} % of the CPU", 100.0 * busy));
    }
    weight::judge([divided, equal], 2, "one CPU", scheduler)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(cpus: &[f64]) -> Vec<Window> {
        vec![Window { seconds: 1.0, grew: cpus.iter().map(|cpus| cpus * 1e9).collect() }; 6]
    }

    #[test]
    fn a_quota_needs_a_twin_that_used_more() {
        let judge = |used: f64, free: f64, throttled| {
            judge_max(0.2, &windows(&[used]), &windows(&[free]), throttled).verdict
        };
        assert_eq!(judge(0.2, 0.9, 10), Verdict::Enforced);
        assert_eq!(judge(0.9, 0.9, 0), Verdict::NotEnforced);
        assert_eq!(judge(0.1, 0.1, 0), Verdict::NotProvable);
        assert_eq!(judge(0.2, 0.9, 0), Verdict::NotProvable, "capped by something else");
    }

    #[test]
    fn shares_that_vary_are_read_again() {
        let noise = [0.22, 0.28, 0.28, 0.22, 0.28, 0.22];
        let of = |copy: [f64; 6]| {
            let mut rounds = 0;
            let read = |at| {
                rounds += 1;
                let equal = |copy: f64| copy + 0.25 * at as f64;
                let shares = copy.map(|copy| [equal(copy), 1.0 - equal(copy)]);
                Ok(shares.iter().flat_map(|cpus| windows(cpus)[..1].to_vec()).collect())
            };
            (until_shown(read, "").unwrap().verdict, rounds)
        };
        assert_eq!(of([0.25; 6]), (Verdict::Enforced, 2));
        assert_eq!(of(noise), (Verdict::Enforced, 4));
        assert_eq!(of([0.5; 6]).1, 4, "nothing is shown, since equal weights are not");
        let mut rounds = 0;
        let starved = |_| {
            rounds += 1;
            Ok(windows(&[0.001, 0.001]))
        };
        assert_eq!(until_shown(starved, "").unwrap().verdict, Verdict::NotProvable);
        assert_eq!(rounds, 2, "there was no CPU time");
    }

    #[test]
    fn weights_need_some_of_the_cpu() {
        let judge = |divided: [f64; 2], equal: [f64; 2]| {
            judge_weight(&windows(&divided), &windows(&equal), "").verdict
        };
        assert_eq!(judge([0.25, 0.75], [0.5, 0.5]), Verdict::Enforced);
        assert_eq!(judge([0.0025, 0.0075], [0.005, 0.005]), Verdict::NotProvable);
    }
}
