//! perf_event: a counter that is opened for a group counts that group alone.

use assay_kernel::Error;
use assay_kernel::event_counts::{Event, EventCount};

use crate::case::Case;
use crate::fixture::Fixture;
use crate::interval::Interval;
use crate::need::Need;
use crate::outcome::{Outcome, Verdict};
use crate::windows::Window;

const DOCUMENT: &str =
    "Documentation/admin-guide/cgroup-v2.rst, perf_event; perf_event_open(2), PERF_FLAG_PID_CGROUP";
const NEEDS: &[Need] = &[Need::Controller("perf_event"), Need::Root];

pub(super) const CASES: &[Case] = &[
    Case {
        controller: "perf_event",
        behaviour: "counter-of-a-group-counts-its-processes",
        promise: "The task clock of a group grows by the CPU time of its processes.",
        documented: DOCUMENT,
        needs: NEEDS,
        run: own,
    },
    Case {
        controller: "perf_event",
        behaviour: "counter-of-a-group-leaves-others-out",
        promise: "The task clock of a group does not grow by what a sibling does.",
        documented: DOCUMENT,
        needs: NEEDS,
        run: others,
    },
];

/// Windows are added until it is decided, up to this many.
const MOST_WINDOWS: usize = 24;

/// Judges growth of the task clock of group `a` beside that of a spinning probe's own clock, the
/// probe in `where_it_spins`.
fn watch(
    ground: &mut Fixture,
    where_it_spins: &str,
    judge: fn(&[Window]) -> Outcome,
) -> Result<Outcome, Error> {
    ground.make("a")?;
    ground.make("b")?;
    let cpus: Vec<u16> = ground.facts().cpus.online.iter().collect();
    let mut clock =
        match EventCount::of_group(ground.root(), Event::TASK_CLOCK, &ground.directory("a"), &cpus)
        {
            Ok(clock) => clock,
            Err(error) => return Ok(Outcome::not_available(error.to_string())),
        };
    let probe = ground.start(where_it_spins, &format!("spin cpu={}", ground.cpu()))?;
    ground.pause(0.1)?;
    let mut windows = Vec::new();
    loop {
        windows.extend(ground.windows(6, 0.25, || Ok(vec![clock.read()?, probe.cpu_ns()?]))?);
        let outcome = judge(&windows);
        if outcome.verdict != Verdict::Undecided || windows.len() >= MOST_WINDOWS {
            return Ok(outcome);
        }
    }
}

/// What the group's clock counted, by what the probe used.
fn part(windows: &[Window]) -> Interval {
    let parts = windows.iter().filter(|window| window.grew[1] > 0.0);
    Interval::of(&parts.map(|window| window.grew[0] / window.grew[1]).collect::<Vec<f64>>())
}

fn own(ground: &mut Fixture) -> Result<Outcome, Error> {
    watch(ground, "a", judge_own)
}

fn judge_own(windows: &[Window]) -> Outcome {
    let part = part(windows);
    let seen = format!("the group's task clock counted {part:.3} of its process's CPU time");
    match part.against(0.9, 1.1) {
        Verdict::Kept => Outcome::kept(seen),
        Verdict::Broken => Outcome::broken("the counter does not count the group").with(seen),
        _ => Outcome::undecided("the two clocks vary too much").with(seen),
    }
}

fn others(ground: &mut Fixture) -> Result<Outcome, Error> {
    watch(ground, "b", judge_others)
}

fn judge_others(windows: &[Window]) -> Outcome {
    let counted: f64 = windows.iter().map(|window| window.grew[0]).sum();
    let used: f64 = windows.iter().map(|window| window.grew[1]).sum();
    let seen = format!(
        "a sibling's process used {:.0} ms, the task clock of the empty group counted {:.3} ms",
        used / 1e6,
        counted / 1e6
    );
    if used < 1e7 {
        return Outcome::void("the sibling's process hardly ran").with(seen);
    }
    Outcome::holds(counted == 0.0, seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(counted: f64, used: f64) -> Vec<Window> {
        (0..6).map(|_| Window { seconds: 0.25, grew: vec![counted, used] }).collect()
    }

    #[test]
    fn a_counter_that_misses_the_group_or_takes_others_in_is_broken() {
        assert_eq!(judge_own(&windows(2.49e8, 2.5e8)).verdict, Verdict::Kept);
        assert_eq!(judge_own(&windows(0.0, 2.5e8)).verdict, Verdict::Broken);
        assert_eq!(judge_others(&windows(0.0, 2.5e8)).verdict, Verdict::Kept);
        assert_eq!(judge_others(&windows(2.5e8, 2.5e8)).verdict, Verdict::Broken);
        assert_eq!(judge_others(&windows(0.0, 1e5)).verdict, Verdict::Void);
    }
}
