//! CPU quotas: a group is capped per period, and not throttled below its quota; beside weights, and with threads that are
//! bound to CPUs.

use std::cell::Cell;
use std::time::Instant;

use super::*;

const BANDWIDTH: Topic = CPU.documented_in("Documentation/scheduler/sched-bwc.rst");
const LOCAL: Topic = CPU
    .documented_in("Documentation/admin-guide/cgroup-v2.rst, cpu.stat.local")
    .needing(&[Need::Controller("cpu"), Need::File("cpu.stat.local")]);
const BURST: Topic = BANDWIDTH.needing(&[Need::Controller("cpu"), Need::Kernel(5, 14)]);

pub(crate) const CASES: &[Case] = &[
    BANDWIDTH.case(
        "a-quota-caps-and-counts",
        "A group uses no more than its quota in a period, and throttling is counted.",
        |fixture| {
            make_capped(fixture, "a", 20_000)?;
            counted_use_of(fixture, &[fixture.start_bound("a", "spin")?], 0.2)
        },
    ),
    BANDWIDTH.case(
        "a-quota-far-above-the-use-does-nothing",
        "A quota far above what a group uses never throttles it.",
        |fixture| {
            make_capped(fixture, "a", 10 * PERIOD)?;
            let probes = [fixture.start_bound("a", "spin")?];
            let windows = fixture.windows(6, 0.3, || cpu_times(&probes))?;
            Ok(judge_far_above(&windows, throttled(fixture, "a")?))
        },
    ),
    BANDWIDTH.case(
        "a-childs-quota-is-bounded-by-its-parents",
        "A child cannot exceed its parent's quota: v1 refuses the setting, v2 caps the time.",
        |fixture| {
            fixture.make_parent("a")?;
            fixture.make("a/b")?;
            set(fixture, "a", 20_000)?;
            let answer = errno_of(set(fixture, "a/b", 50_000));
            if !fixture.is_v2() {
                let what = "parent 0.2 CPUs, child 0.5 CPUs";
                return Ok(answered(what, answer, Some(Errno::INVAL)));
            }
            if answer.is_some() {
                return Ok(answered("a child's larger quota", answer, None));
            }
            fixture.go_first()?;
            let probes = [fixture.start_bound("a/b", "spin")?];
            let capped = use_of(fixture, &probes, |windows| judge_cap(windows, 0.2))?;
            Ok(capped.with("the child's own quota is 0.5 CPUs"))
        },
    ),
    LOCAL.case(
        "a-quota-above-counts-in-local-time-only",
        "Below a group that is throttled, cpu.stat counts no throttling, and cpu.stat.local counts its \
         time.",
        |fixture| {
            fixture.make_parent("a")?;
            fixture.make("a/b")?;
            set(fixture, "a", 20_000)?;
            let _probe = fixture.start_bound("a/b", "spin")?;
            // Local time is added when throttling ends.
            fixture.wait_for(3.0, || Ok(throttled(fixture, "a")?.0 >= 3))?;
            let counts = [throttled(fixture, "a")?.0, throttled(fixture, "a/b")?.0];
            let key = fixture.by_version("throttled_time", "throttled_usec");
            Ok(judge_inherited(counts, fixture.keyed("a/b", "cpu.stat.local", key)?))
        },
    ),
    BANDWIDTH.case(
        "a-quota-below-the-weighted-share-leaves-the-rest",
        "What a quota takes from a heavy group, its light sibling gets.",
        |fixture| {
            // The heavy group may use 0.3 CPUs, and by weight it would get 0.75.
            weights_and_quota(fixture, 30_000, judge_rest)
        },
    ),
    BANDWIDTH.case(
        "a-quota-above-the-weighted-share-does-nothing",
        "A quota above a group's share by weight leaves the shares 1:3.",
        |fixture| {
            // The heavy group may use 0.9 CPUs, and by weight it gets 0.75.
            weights_and_quota(fixture, 90_000, |windows| judge(windows, &[1.0, 3.0]))
        },
    ),
    BANDWIDTH.needing(&[Need::Controller("cpu"), Need::Cpus(2)]).case(
        "a-quota-counts-bound-threads-on-all-cpus",
        "Threads bound to two CPUs use no more than the quota of their group together.",
        |fixture| {
            make_capped(fixture, "a", 50_000)?;
            let cpus = fixture.cpus();
            let spin = |cpu: &u16| fixture.start("a", &format!("spin cpu={cpu}"));
            let probes = cpus.iter().rev().take(2).map(spin).collect::<Result<Vec<_>, _>>()?;
            counted_use_of(fixture, &probes, 0.5)
        },
    ),
    BANDWIDTH.case(
        "bound-threads-below-their-quota-run-freely",
        "Threads bound to one CPU, with a quota of more than one, are never throttled.",
        |fixture| {
            make_capped(fixture, "a", 150_000)?;
            let probes = [fixture.start_bound("a", "spin threads=2")?];
            fixture.pause(0.2)?;
            let counts = || -> Result<[u64; 2], Error> {
                Ok([throttled(fixture, "a")?.0, fixture.keyed("a", "cpu.stat", "nr_periods")?])
            };
            let before = counts()?;
            let windows = fixture.windows(6, 0.3, || cpu_times(&probes))?;
            let after = counts()?;
            Ok(judge_never(&windows, [0, 1].map(|at| after[at].saturating_sub(before[at]))))
        },
    ),
    BURST.case(
        "a-burst-carries-unused-quota-over",
        "A group that saved quota may later exceed it by its burst.",
        |fixture| {
            // 36 ms of work every 300 ms, against a quota of 20 ms per 100 ms.
            let mut counts = Vec::new();
            let mut took = None;
            for (name, burst) in [("plain", 0), ("burst", 20_000)] {
                make_capped(fixture, name, 20_000)?;
                set_burst(fixture, name, burst)?;
                let _probe = fixture.start_bound(name, "spin duty=12 turn_ms=300")?;
                // Program start may exceed the quota.
                fixture.pause(0.3)?;
                let before = throttled(fixture, name)?.0;
                let grew = || Ok::<_, Error>(throttled(fixture, name)?.0.saturating_sub(before));
                // The plain group runs until it was throttled often enough, the other one as long.
                let began = Instant::now();
                let limit = took.unwrap_or(8.0);
                fixture.wait_for(limit, || Ok(took.is_none() && grew()? >= 5))?;
                took = took.or(Some(began.elapsed().as_secs_f64() / fixture.patience));
                counts.push(grew()?);
            }
            let bursts = fixture.keyed("burst", "cpu.stat", "nr_bursts").ok();
            Ok(judge_burst(counts[0], counts[1], bursts))
        },
    ),
    BURST.case(
        "a-burst-gives-a-busy-group-nothing",
        "A group that always uses up its quota never exceeds it, whatever its burst.",
        |fixture| {
            // A burst as large as the quota: it has nothing saved.
            make_capped(fixture, "a", 20_000)?;
            set_burst(fixture, "a", 20_000)?;
            let probes = [fixture.start_bound("a", "spin")?];
            // What it saved before it began is spent in the first period.
            fixture.pause(0.1)?;
            use_of(fixture, &probes, |windows| judge_cap(windows, 0.2)).map(with_burst)
        },
    ),
];

/// Microseconds; the kernel's default.
const PERIOD: u64 = 100_000;
/// Allowed overshoot relative to the quota: the kernel hands out time in slices of 5 ms
/// (sched_cfs_bandwidth_slice_us), and a slice may be used after the period in which it was taken.
const SLACK: f64 = 0.15;

/// Creates a group with a quota, before which no other work gets the CPU.
fn make_capped(fixture: &Fixture, group: &str, quota: u64) -> Result<(), Error> {
    fixture.go_first()?;
    fixture.make(group)?;
    set(fixture, group, quota)
}

/// Sets a quota in microseconds per period of 100 ms.
fn set(fixture: &Fixture, group: &str, quota: u64) -> Result<(), Error> {
    if fixture.is_v2() {
        return fixture.write(group, "cpu.max", &format!("{quota} {PERIOD}"));
    }
    fixture.write(group, "cpu.cfs_period_us", &PERIOD.to_string())?;
    fixture.write(group, "cpu.cfs_quota_us", &quota.to_string())
}

fn set_burst(fixture: &Fixture, group: &str, burst: u64) -> Result<(), Error> {
    let file = fixture.by_version("cpu.cfs_burst_us", "cpu.max.burst");
    fixture.write(group, file, &burst.to_string())
}

/// How often the group was throttled, and for how many seconds.
fn throttled(fixture: &Fixture, group: &str) -> Result<(u64, f64), Error> {
    let count = fixture.keyed(group, "cpu.stat", "nr_throttled")?;
    let (key, unit) = fixture.by_version(("throttled_time", 1e9), ("throttled_usec", 1e6));
    Ok((count, fixture.keyed(group, "cpu.stat", key)? as f64 / unit))
}

/// Judges what these probes use of a quota in CPUs, in windows of whole periods.
fn use_of(
    fixture: &Fixture,
    probes: &[Running],
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.pause(0.2)?;
    fixture.settle(6, &[0.3, 1.2], || cpu_times(probes), judge)
}

/// The same of all probes of group `a`, and whether the group's throttling was counted.
fn counted_use_of(fixture: &Fixture, probes: &[Running], quota: f64) -> Result<Outcome, Stop> {
    let used = Cell::new(0.0);
    let capped = use_of(fixture, probes, |windows| {
        used.set(mean_busy(windows));
        judge_cap(windows, quota)
    })?;
    Ok(Outcome::all([capped, judge_count(throttled(fixture, "a")?, used.get() / quota)]))
}

/// Weights 1:3 on one CPU; the heavy group has this quota, in microseconds per period.
fn weights_and_quota(
    fixture: &Fixture,
    quota: u64,
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    let probes = contend(fixture, "spin", &[("light", 100), ("heavy", 300)])?;
    set(fixture, "heavy", quota)?;
    fixture.pause(0.2)?;
    fixture.settle(8, &[0.3, 1.2], || cpu_times(&probes), judge)
}

/// Compares use with a quota, both in CPUs.
fn judge_cap(windows: &[Window], quota: f64) -> Outcome {
    let used = Interval::of_windows(windows, Window::busy);
    let evidence = format!("quota {quota:.2} CPUs, used {used} in {} windows", windows.len());
    let verdict = match used.verdict_within(0.0, quota * (1.0 + SLACK)) {
        Verdict::Broken => Verdict::Broken,
        // The lower end of a use that is never negative means nothing here.
        _ if used.high <= quota * (1.0 + SLACK) => Verdict::Kept,
        _ => Verdict::Undecided,
    };
    let (broken, undecided) =
        ("it used more than its quota", "its use varies too much between windows");
    let is_kept_from = verdict != Verdict::Broken && used.mean < quota * 0.6;
    Outcome::decided(verdict, evidence, broken, undecided)
        .void_if(is_kept_from, "other work kept it from using its quota")
}

/// A group that used less than its quota, because a group above it has one or others had the CPU, need not have
/// been throttled. `reached` is its use over its quota.
fn judge_count((count, seconds): (u64, f64), reached: f64) -> Outcome {
    let evidence = format!("throttled {count} times, {seconds:.2} s in all");
    Outcome::holds(count > 0 && seconds > 0.0, evidence)
        .void_if(count == 0 && reached < 0.9, "it never reached its quota")
}

/// How often the group with the quota and the one below were throttled, and the local time of the latter.
fn judge_inherited([above, below]: [u64; 2], local: u64) -> Outcome {
    let unit = "units of cpu.stat.local";
    let evidence = format!(
        "the group above was throttled {above} times, this one {below} times, {local} {unit}"
    );
    Outcome::holds(below == 0 && local > 0, evidence)
        .void_if(above < 3, "the group above hardly reached its quota")
}

fn judge_far_above(windows: &[Window], (count, seconds): (u64, f64)) -> Outcome {
    let busy = mean_busy(windows);
    let evidence =
        format!("quota 10 CPUs, used {busy:.2}, throttled {count} times, {seconds:.3} s");
    if count > 0 || seconds > 0.0 {
        return Outcome::broken("a group far below its quota was throttled").with(evidence);
    }
    Outcome::kept(evidence).void_if(busy < 0.3, "other work kept it from using the CPU")
}

/// How often a group was throttled without and with a burst, and its number of bursts (counted
/// since Linux 5.16): without that count a burst that does not help may be a busy machine.
fn judge_burst(plain: u64, with_burst: u64, bursts: Option<u64>) -> Outcome {
    let counted = bursts.map_or_else(String::new, |count| format!(", bursts counted: {count}"));
    let evidence = format!(
        "36 ms of work in every 300 ms, quota 20 ms in 100 ms: throttled {plain} times without \
         and {with_burst} times with a burst of 20 ms{counted}"
    );
    // Bursts counted but throttling unchanged: the work took longer than its CPU time. No burst and
    // less throttling: it was spread over more periods.
    let verdict = match (with_burst >= plain, bursts) {
        (true, Some(0)) => Verdict::Broken,
        (false, None | Some(1..)) if with_burst * 2 <= plain => Verdict::Kept,
        _ => Verdict::Undecided,
    };
    let busy = "the machine was too busy to run the work in time";
    Outcome::decided(verdict, evidence, "no burst was counted", busy)
        .void_if(plain < 3, "the work did not exceed the quota")
}

fn with_burst(outcome: Outcome) -> Outcome {
    outcome.with("a burst of 0.2 CPUs, of which a busy group saves nothing")
}

/// What a quota takes from the heavy group is the light one's.
fn judge_rest(windows: &[Window]) -> Outcome {
    let light = Interval::of_median(&first_shares(windows));
    let busy = mean_busy(windows);
    let evidence = format!(
        "weights 1:3, the heavy group may use 0.3 CPUs: the light one got {light} of what both \
         got, {:.0} % of the CPU together",
        busy * 100.0
    );
    let rest = Outcome::decided(
        light.verdict_within(0.6, 0.8),
        evidence,
        "the light group did not get what the quota of the heavy one left",
        "its share varies too much between windows",
    );
    let rest = rest.void_if(busy < 0.75, "other work kept the CPU busy");
    Outcome::all([rest, judge_cap(&without_first(windows), 0.3)])
}

/// A kernel that counts a thread for each CPU throttles in every period. A single time may be a timer that came late, on
/// a CPU that a hypervisor had stopped.
fn judge_never(windows: &[Window], [count, periods]: [u64; 2]) -> Outcome {
    let busy = mean_busy(windows);
    let evidence = format!(
        "two threads bound to one CPU, quota 1.5 CPUs: used {busy:.2}, throttled in {count} of \
         {periods} periods"
    );
    let verdict = match count {
        0 => Verdict::Kept,
        count if count * 10 > periods => Verdict::Broken,
        _ => Verdict::Undecided,
    };
    let why = "a group that cannot reach its quota was throttled";
    Outcome::decided(verdict, evidence, why, why)
        .void_if(count == 0 && busy < 0.3, "other work kept it from using the CPU")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::of_cpus as windows;

    fn use_in_cpus(values: &[f64]) -> Vec<Window> {
        values.iter().map(|used| Window { seconds: 1.0, grew: vec![used * 1e9] }).collect()
    }

    #[test]
    fn a_quota_that_does_not_cap_is_broken() {
        let at = |values: &[f64]| judge_cap(&use_in_cpus(values), 0.2).verdict;
        assert_eq!(at(&[0.2, 0.21, 0.2, 0.19]), Verdict::Kept);
        assert_eq!(at(&[0.9, 0.95, 0.9, 0.97]), Verdict::Broken);
        assert_eq!(at(&[0.01, 0.02, 0.01, 0.02]), Verdict::Void);
        assert_eq!(at(&[0.05, 0.5, 0.2, 0.19]), Verdict::Undecided);
    }

    #[test]
    fn uncounted_throttling_is_broken() {
        assert_eq!(judge_count((0, 0.0), 0.98).verdict, Verdict::Broken);
        assert_eq!(judge_count((12, 0.9), 0.98).verdict, Verdict::Kept);
        // A container that has less than the quota throttles instead.
        assert_eq!(judge_count((0, 0.0), 0.75).verdict, Verdict::Void);
    }

    #[test]
    fn throttling_by_a_quota_above_is_broken_if_it_is_counted_as_its_own_or_not_at_all() {
        assert_eq!(judge_inherited([3, 0], 160_000).verdict, Verdict::Kept);
        assert_eq!(judge_inherited([3, 3], 160_000).verdict, Verdict::Broken);
        assert_eq!(judge_inherited([3, 0], 0).verdict, Verdict::Broken);
        assert_eq!(judge_inherited([0, 0], 0).verdict, Verdict::Void);
    }

    #[test]
    fn throttling_far_below_the_quota_is_broken() {
        let busy = use_in_cpus(&[0.9, 0.9]);
        assert_eq!(judge_far_above(&busy, (0, 0.0)).verdict, Verdict::Kept);
        assert_eq!(judge_far_above(&busy, (3, 0.1)).verdict, Verdict::Broken);
        assert_eq!(judge_far_above(&use_in_cpus(&[0.1]), (0, 0.0)).verdict, Verdict::Void);
    }

    #[test]
    fn a_burst_without_effect_is_broken() {
        assert_eq!(judge_burst(5, 0, Some(5)).verdict, Verdict::Kept);
        assert_eq!(judge_burst(5, 5, None).verdict, Verdict::Undecided);
        // Counted bursts prove the feature; on a busy machine the work may still not fit.
        assert_eq!(judge_burst(5, 6, Some(3)).verdict, Verdict::Undecided);
        assert_eq!(judge_burst(5, 5, Some(0)).verdict, Verdict::Broken);
        assert_eq!(judge_burst(5, 0, Some(0)).verdict, Verdict::Undecided);
        assert_eq!(judge_burst(0, 0, Some(1)).verdict, Verdict::Void);
        // One that is granted in every period.
        assert_eq!(with_burst(judge_cap(&windows(&[0.4]), 0.2)).verdict, Verdict::Broken);
    }

    #[test]
    fn a_quota_that_is_ignored_or_wasted_is_broken() {
        assert_eq!(judge_rest(&windows(&[0.7, 0.3])).verdict, Verdict::Kept);
        assert_eq!(judge_rest(&windows(&[0.25, 0.75])).verdict, Verdict::Broken);
        assert_eq!(judge_rest(&windows(&[0.2, 0.3])).verdict, Verdict::Void);
        // A quota that acts although the group is below it.
        assert_eq!(judge(&windows(&[0.5, 0.5]), &[1.0, 3.0]).verdict, Verdict::Broken);
    }

    #[test]
    fn a_quota_for_each_cpu_instead_of_for_all_is_broken() {
        assert_eq!(judge_cap(&windows(&[0.25, 0.25]), 0.5).verdict, Verdict::Kept);
        assert_eq!(judge_cap(&windows(&[0.5, 0.5]), 0.5).verdict, Verdict::Broken);
        assert_eq!(judge_never(&windows(&[0.99]), [0, 18]).verdict, Verdict::Kept);
        assert_eq!(judge_never(&windows(&[0.99]), [17, 18]).verdict, Verdict::Broken);
        assert_eq!(judge_never(&windows(&[0.99]), [1, 18]).verdict, Verdict::Undecided);
        assert_eq!(judge_never(&windows(&[0.1]), [0, 18]).verdict, Verdict::Void);
    }
}
