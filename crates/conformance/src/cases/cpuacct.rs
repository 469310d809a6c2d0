//! cpuacct: CPU time of the groups of a v1 hierarchy.

use super::cpu::account::{self, Reading, judge_usage};
use crate::case::{Case, Topic};
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::{Outcome, Stop};

const CPUACCT: Topic = Topic::new(
    "cpuacct",
    "Documentation/admin-guide/cgroup-v1/cpuacct.rst",
    &[Need::OnV1("cpuacct")],
);

pub(super) const CASES: &[Case] = &[
    CPUACCT.case(
        "usage-is-the-time-of-its-threads",
        "cpuacct.usage grows by the CPU time that threads of the group use.",
        account::usage,
    ),
    CPUACCT.case(
        "usage-of-a-sleeper-is-nothing",
        "cpuacct.usage of a sleeping group does not grow, whatever its siblings do.",
        account::sleeper,
    ),
    CPUACCT.case(
        "usage-percpu-adds-up",
        "The values of cpuacct.usage_percpu add up to cpuacct.usage.",
        per_cpu,
    ),
    CPUACCT.case(
        "usage-reaches-the-parent",
        "CPU time of a group is also counted for its ancestors.",
        of_parent,
    ),
];

fn per_cpu(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "spin")?;
    fixture.let_run(&probe, 0.1)?;
    // Two files cannot be read at one instant, so nothing may run in between.
    probe.end()?;
    let usage = fixture.number("a", "cpuacct.usage")?;
    let text = fixture.read("a", "cpuacct.usage_percpu")?;
    let parts: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Ok(judge_per_cpu(usage, &parts))
}

fn judge_per_cpu(usage: u64, parts: &[u64]) -> Outcome {
    let sum: u64 = parts.iter().sum();
    let evidence = format!("usage {usage} ns, {} CPUs together {sum} ns", parts.len());
    if usage == 0 {
        return Outcome::void("no CPU time was used").with(evidence);
    }
    Outcome::holds(usage == sum, evidence)
}

fn of_parent(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make_parent("a")?;
    fixture.make("a/b")?;
    let mut probe = fixture.start("a/b", "spin")?;
    fixture.let_run(&probe, 0.1)?;
    probe.end()?;
    let child = fixture.number("a/b", "cpuacct.usage")?;
    let parent = Reading::at_rest(fixture.number("a", "cpuacct.usage")?, child);
    Ok(judge_usage(Reading::at_rest(0, 0), parent, "a spinning child, counted for its parent"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn parts_that_miss_a_cpu_are_broken() {
        assert_eq!(judge_per_cpu(10, &[4, 6]).verdict, Verdict::Kept);
        assert_eq!(judge_per_cpu(10, &[4]).verdict, Verdict::Broken);
        assert_eq!(judge_per_cpu(0, &[]).verdict, Verdict::Void);
    }
}
