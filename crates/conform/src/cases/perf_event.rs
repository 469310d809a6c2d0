//! perf_event: a counter opened for a group counts only that group.

use assay_sys::kernel::event_counts::{Event, EventCount};

use super::prelude::*;

const PERF_EVENT: Topic = Topic::new(
    "perf_event",
    "Documentation/admin-guide/cgroup-v2.rst, perf_event; perf_event_open(2), PERF_FLAG_PID_CGROUP",
    &[Need::Controller("perf_event"), Need::Root],
);

pub(super) const CASES: &[Case] = &[
    PERF_EVENT.case(
        "counter-of-a-group-counts-its-processes",
        "The task clock of a group grows by the CPU time of its processes.",
        |fixture| watch(fixture, "a", judge_own),
    ),
    PERF_EVENT.case(
        "counter-of-a-group-leaves-others-out",
        "The task clock of a group does not grow by a sibling's CPU time.",
        |fixture| watch(fixture, "b", judge_others),
    ),
];

/// Judges the growth of group `a`'s task clock relative to the own clock of a spinning probe in
/// `where_it_spins`.
fn watch(
    fixture: &mut Fixture,
    where_it_spins: &str,
    judge: fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.make_each(&["a", "b"])?;
    let cpus: Vec<u16> = fixture.facts.cpus.online.iter().collect();
    let (root, group) = (fixture.root, fixture.directory("a"));
    let mut clock = EventCount::for_group(root, Event::TASK_CLOCK, &group, &cpus)
        .map_err(|error| Stop::not_available(error.to_string()))?;
    let probe = fixture.start_bound(where_it_spins, "spin")?;
    fixture.pause(0.1)?;
    fixture.settle(6, &[0.25], || Ok(vec![clock.read()?, probe.cpu_ns()?]), judge)
}

/// The group's task clock relative to the probe's CPU time.
fn judge_own(windows: &[Window]) -> Outcome {
    let parts = windows.iter().filter(|window| window.grew[1] > 0.0);
    let parts: Vec<f64> = parts.map(|window| window.grew[0] / window.grew[1]).collect();
    let part = Interval::of_mean(&parts);
    let evidence = format!("the group's task clock counted {part:.3} of its process's CPU time");
    let broken = "the counter does not match the group's CPU time";
    let verdict = part.verdict_within(0.9, 1.1);
    Outcome::decided(verdict, evidence, broken, "the two clocks vary too much")
}

fn judge_others(windows: &[Window]) -> Outcome {
    let counted: f64 = windows.iter().map(|window| window.grew[0]).sum();
    let used: f64 = windows.iter().map(|window| window.grew[1]).sum();
    let evidence = format!(
        "a sibling's process used {:.0} ms, the task clock of the empty group counted {:.3} ms",
        used / 1e6,
        counted / 1e6
    );
    Outcome::holds(counted == 0.0, evidence).void_if(used < 1e7, "the sibling's process hardly ran")
}

#[cfg(test)]
mod tests {
    use super::*;

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
