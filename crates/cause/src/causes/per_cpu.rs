//! What CPUs would give to the groups that are present on each, and what they would give if one thing had not
//! happened.
//!
//! Weights are exact on a single CPU, whatever else runs there. So shares over several CPUs follow from where the
//! threads of each group were, from what others took of each CPU, and from how long a quota held a group back. If
//! these give the shares that were seen, the model may say what is left of the errors without one of them.

use assay_stats::water_fill::water_fill;

use super::fit::{Fit, distance};
use super::rules::{Case, EXPLAINS, Finding, NEGLIGIBLE};

/// Tolerance between the threads found on all CPUs together and those that the group has.
const ALL_THERE: f64 = 0.1;

/// What happened to the groups on their CPUs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PerCpu {
    /// Threads that ran or waited, by group and CPU, on average; an even part of each where it is not known.
    pub(super) present: Vec<Vec<f64>>,
    /// Whether it is known.
    pub(super) knows_where: bool,
    /// Part of the time of a group's threads on each CPU that others took.
    foreign: Vec<Vec<f64>>,
    /// Part of the time in which a quota held each group back.
    throttled: Vec<f64>,
}

/// What may not have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Without {
    Others,
    Quotas,
    Unevenness,
}

impl PerCpu {
    /// `None` without figures, or where threads slept: no wait says where these were.
    pub(super) fn new(case: &Case<'_>) -> Option<Self> {
        let waits = case.measured.waits_by_class()?;
        let threads = case.threads.as_ref()?;
        let cpus = || 0..case.cpus.len();
        let groups = || 0..waits.len();
        let throttled: Vec<f64> = groups()
            .map(|group| waits[group].quota / (threads[group] * waits[group].seconds))
            .collect();
        let on = |group: usize, cpu: usize| {
            let found = waits[group].cpus.iter().find(|on| on.cpu == case.cpus[cpu]);
            found.copied().unwrap_or_default()
        };
        let even = |group: usize| vec![threads[group] / case.cpus.len() as f64; case.cpus.len()];
        let Some(ran) = &case.ran else {
            let part = |group: usize| {
                waits[group].foreign_s()
                    / (threads[group] * waits[group].seconds)
                    / (1.0 - throttled[group]).max(NEGLIGIBLE)
            };
            let foreign = groups().map(|group| vec![part(group); case.cpus.len()]).collect();
            let present = groups().map(even).collect();
            return Some(Self { present, knows_where: false, foreign, throttled });
        };
        let here = |group: usize, cpu: usize| {
            on(group, cpu).waited / waits[group].seconds + ran[group][cpu]
        };
        let present: Vec<Vec<f64>> =
            groups().map(|group| cpus().map(|cpu| here(group, cpu)).collect()).collect();
        let all_there = groups().all(|group| {
            (present[group].iter().sum::<f64>() / threads[group] - 1.0).abs() <= ALL_THERE
        });
        // While others run, all threads wait that are present and not held back.
        let taken = |cpu: usize| {
            let waited = |group: usize| on(group, cpu).foreign / waits[group].seconds;
            let free = |group: usize| present[group][cpu] * (1.0 - throttled[group]);
            let threads: f64 = groups().map(free).sum();
            (groups().map(waited).sum::<f64>() / threads.max(f64::MIN_POSITIVE)).min(1.0)
        };
        let taken: Vec<f64> = cpus().map(taken).collect();
        let foreign = groups().map(|_| taken.clone()).collect();
        all_there.then_some(Self { present, knows_where: true, foreign, throttled })
    }

    /// Shares if each CPU is divided by weight among the groups present on it, each with the part of its weight
    /// that is there; a group has no more of a CPU than it has threads.
    fn shares(&self, weights: &[f64], without: Option<Without>) -> Vec<f64> {
        let mut shares = vec![0.0; weights.len()];
        let cpus = self.present.first().map_or(0, Vec::len);
        for cpu in 0..cpus {
            let demands: Vec<(f64, f64)> = (0..weights.len())
                .map(|group| {
                    let all: f64 = self.present[group].iter().sum();
                    let here = match without {
                        Some(Without::Unevenness) => all / cpus as f64,
                        _ => self.present[group][cpu],
                    };
                    let free = match without {
                        Some(Without::Quotas) => 1.0,
                        _ => 1.0 - self.throttled[group],
                    };
                    (
                        weights[group] * here / all.max(f64::MIN_POSITIVE) * free,
                        here.min(1.0) * free,
                    )
                })
                .collect();
            for (group, part) in water_fill(1.0, &demands).into_iter().enumerate() {
                let left = match without {
                    Some(Without::Others) => 1.0,
                    _ => 1.0 - self.foreign[group][cpu],
                };
                shares[group] += part * left;
            }
        }
        let all: f64 = shares.iter().sum();
        shares.iter().map(|share| share / all.max(f64::MIN_POSITIVE)).collect()
    }

    /// What this says of a cause: proven where the model gives three quarters of the errors, and a quarter of them
    /// or less is left without it; excluded where the errors are the same without it.
    pub(super) fn judge(
        &self,
        case: &Case<'_>,
        without: Without,
        evidence: &str,
    ) -> Option<Finding> {
        let all = self.shares(&case.weights, None);
        let rest = self.shares(&case.weights, Some(without));
        let fit = Fit::from_shares(&case.seen, case.promised, &all)?.explained_in_full();
        let off = distance(&case.seen, case.promised);
        let left = distance(&rest, case.promised) / off;
        let evidence = format!(
            "{evidence}; weights kept on each CPU give {} of the errors, and leave {} of them without it",
            assay_judge::verdict::wording::percent(fit),
            assay_judge::verdict::wording::percent(left)
        );
        let explained = match distance(&rest, &all) / off {
            moved if moved <= NEGLIGIBLE => 0.0,
            _ => (1.0 - left).max(2.0 * NEGLIGIBLE),
        };
        Some(Finding::new(explained, fit >= EXPLAINS, evidence))
    }

    /// The largest part of a group's threads on one CPU beyond an even part, with the group and the CPU.
    pub(super) fn most_uneven(&self) -> Option<(usize, usize, f64)> {
        self.beyond_even().max_by(|a, b| a.2.total_cmp(&b.2))
    }

    /// The largest part of a group's threads that this CPU lacks of an even part.
    pub(super) fn lacks(&self, cpu: usize) -> f64 {
        let here = self.beyond_even().filter(|(_, one, _)| *one == cpu);
        here.map(|(_, _, beyond)| -beyond).fold(0.0, f64::max)
    }

    /// The part of a CPU's time that others took, by the waiting of the threads there.
    pub(super) fn taken(&self, cpu: usize) -> f64 {
        self.foreign.iter().map(|by_cpu| by_cpu[cpu]).fold(0.0, f64::max)
    }

    /// Each group, each CPU, and the part of the group's threads there beyond an even part.
    fn beyond_even(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.present.iter().enumerate().flat_map(|(group, by_cpu)| {
            let all: f64 = by_cpu.iter().sum();
            let even = 1.0 / by_cpu.len() as f64;
            by_cpu.iter().enumerate().map(move |(cpu, here)| (group, cpu, here / all - even))
        })
    }
}
