//! perf_event: a counter opened for a group counts only that group.

use assay_kernel::event_counts::{Event, EventCount};

use crate::case::{Case, Topic};
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::need::Need;
use crate::outcome::{Outcome, Stop};
use crate::windows::Window;

const PERF_EVENT: Topic = Topic::new(
    "perf_event",
    "Documentation/admin-guide/cgroup-v2.rst, perf_event; perf_event_open(2), PERF_FLAG_PID_CGROUP",
    &[Need::Controller("perf_event"), Need::Root],
);

pub(super) const CASES: &[Case] = &[
    PERF_EVENT.case(
        "counter-of-a-group-counts-its-processes",
        "The task clock of a group grows by the CPU time of its processes.",
        counts_own,
    ),
    PERF_EVENT.case(
        "counter-of-a-group-leaves-others-out",
        "The task clock of a group does not grow by a sibling's CPU time.",
        ignores_others,
    ),
];

/// Judges the growth of group `a`'s task clock relative to the own clock of a spinning probe in
/// `where_it_spins`.
fn watch(
    fixture: &mut Fixture,
    where_it_spins: &str,
    judge: fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    fixture.make("b")?;
    let cpus: Vec<u16> = fixture.facts().cpus.online.iter().collect();
    let mut clock = match EventCount::for_group(
        fixture.root(),
        Event::TASK_CLOCK,
        &fixture.directory("a"),
        &cpus,
    ) {
        Ok(clock) => clock,
        Err(error) => return Err(Stop::not_available(error.to_string())),
    };
    let probe = fixture.start(where_it_spins, &format!("spin cpu={}", fixture.cpu()))?;
    fixture.pause(0.1)?;
    fixture.settle(6, &[0.25], || Ok(vec![clock.read()?, probe.cpu_ns()?]), judge)
}

/// The group's task clock relative to the probe's CPU time.
fn part(windows: &[Window]) -> Interval {
    let parts = windows.iter().filter(|window| window.grew[1] > 0.0);
    Interval::of_mean(&parts.map(|window| window.grew[0] / window.grew[1]).collect::<Vec<f64>>())
}

fn counts_own(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    watch(fixture, "a", judge_own)
}

fn judge_own(windows: &[Window]) -> Outcome {
    let part = part(windows);
    let evidence = format!("the group's task clock counted {part:.3} of its process's CPU time");
    Outcome::decided(
        part.verdict_within(0.9, 1.1),
        evidence,
        "the counter does not match the group's CPU time",
        "the two clocks vary too much",
    )
}

fn ignores_others(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    watch(fixture, "b", judge_others)
}

fn judge_others(windows: &[Window]) -> Outcome {
    let counted: f64 = windows.iter().map(|window| window.grew[0]).sum();
    let used: f64 = windows.iter().map(|window| window.grew[1]).sum();
    let evidence = format!(
        "a sibling's process used {:.0} ms, the task clock of the empty group counted {:.3} ms",
        used / 1e6,
        counted / 1e6
    );
    if used < 1e7 {
        return Outcome::void("the sibling's process hardly ran").with(evidence);
    }
    Outcome::holds(counted == 0.0, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn windows(counted: f64, used: f64) -> Vec<Window> {
        (0..6).map(|_| Window { seconds: 0.25, grew: vec![counted, used] }).collect()
    }

    #[test]
    fn a_counter_that_misses_the_group_or_includes_others_is_broken() {
        assert_eq!(judge_own(&windows(2.49e8, 2.5e8)).verdict, Verdict::Kept);
        assert_eq!(judge_own(&windows(0.0, 2.5e8)).verdict, Verdict::Broken);
        assert_eq!(judge_others(&windows(0.0, 2.5e8)).verdict, Verdict::Kept);
        assert_eq!(judge_others(&windows(2.5e8, 2.5e8)).verdict, Verdict::Broken);
        assert_eq!(judge_others(&windows(0.0, 1e5)).verdict, Verdict::Void);
    }
}
