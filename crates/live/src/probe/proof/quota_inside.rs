//! The quota of the group itself: a probe in it takes what its processes leave of it, and so has them throttled for some periods.

use std::path::Path;

use assay_conform::{Interval, Window};
use assay_sys::kernel::Error;

use super::Proof;
use super::cpu::SLACK;
use crate::probe::beside::{Beside, COPY, TWIN, keyed};

/// More CPUs are not used up.
const MOST: f64 = 4.0;

/// `group` has the quota, and the probe is in it or below it.
pub(super) fn prove(inside: &Beside<'_>, group: &Path, quota: f64) -> Result<Proof, Error> {
    if quota > MOST {
        return Ok(Proof::not_provable(format!("a probe would have to use more than {MOST} CPUs")));
    }
    let burst = if inside.is_v2() { "cpu.max.burst" } else { "cpu.cfs_burst_us" };
    if inside.root.read_trimmed(group.join(burst)).is_ok_and(|burst| burst != "0") {
        return Ok(Proof::not_provable(format!("{burst} lets it have more for a while")));
    }
    let words = format!("spin threads={:.0}", (2.0 * quota).ceil());
    let used_by = |place, windows| {
        let probe = inside.start(place, &words)?;
        inside.pause(0.15)?;
        inside.windows(windows, 0.3, || {
            // The whole group, where the kernel says it: v1 counts that in a hierarchy of its own, usually this one.
            let whole = (place == COPY).then(|| used(inside, group)).flatten();
            Ok(vec![whole.map_or_else(|| probe.cpu_ns(), Ok)?])
        })
    };
    let free = Interval::of_mean(&busy(&used_by(TWIN, 2)?)).mean;
    let seen = format!("a probe outside of the group: {free:.2} CPUs");
    if free < 1.5 * quota {
        let reason = "a probe outside of the group had hardly more than the quota";
        return Ok(Proof::not_provable(reason).with(seen));
    }
    let throttled = || keyed(inside.root, group, "cpu.stat", "nr_throttled").unwrap_or(0);
    let before = throttled();
    let windows = used_by(COPY, 4)?;
    Ok(judge(quota, &windows, throttled().saturating_sub(before)).with(seen))
}

fn busy(windows: &[Window]) -> Vec<f64> {
    windows.iter().map(Window::busy).collect()
}

/// CPU time of a group in ns.
fn used(inside: &Beside<'_>, group: &Path) -> Option<u64> {
    match inside.is_v2() {
        true => keyed(inside.root, group, "cpu.stat", "usage_usec").map(|us| us * 1000),
        false => inside.root.read_trimmed(group.join("cpuacct.usage")).ok()?.parse().ok(),
    }
}

fn judge(quota: f64, windows: &[Window], throttled: u64) -> Proof {
    let used = Interval::of_mean(&busy(windows));
    let seen = format!("the group with a probe: used {used} CPUs, throttled {throttled} times");
    if used.low > quota * (1.0 + SLACK) {
        let reason = format!("the group used {:.2} CPUs, and its quota is {quota:.2}", used.mean);
        return Proof::not_enforced(reason).with(seen);
    }
    // With a period of a second a window may hold all of its use.
    let reason = match used.mean <= quota * (1.0 + SLACK) {
        true if throttled >= 3 => return Proof::enforced(seen),
        true => "others left it no more CPU time than the quota",
        false => "its use varies too much",
    };
    Proof::not_provable(reason).with(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Verdict;

    #[test]
    fn only_a_group_that_was_throttled_was_held_to_its_quota() {
        let judge = |cpus: f64, throttled| {
            let window = Window { seconds: 1.0, grew: vec![cpus * 1e9] };
            judge(0.5, &vec![window; 4], throttled).verdict
        };
        assert_eq!(judge(0.5, 10), Verdict::Enforced);
        assert_eq!(judge(1.27, 0), Verdict::NotEnforced, "2.54 times its quota");
        assert_eq!(judge(1.27, 10), Verdict::NotEnforced);
        assert_eq!(judge(0.4, 0), Verdict::NotProvable, "without CPU time");
        let halves = [1.0, 0.2].map(|cpus| Window { seconds: 1.0, grew: vec![cpus * 1e9] });
        let proof = super::judge(0.5, &halves, 1);
        assert_eq!(proof.verdict, Verdict::NotProvable, "{proof:?}");
    }
}
