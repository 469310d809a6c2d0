//! C-CPU-IMBALANCE: a group's threads were not spread evenly over the CPUs.
//!
//! The kernel has a run queue for each CPU, and a group's weight is divided among the queues that
//! hold its threads, by their load averages (`calc_group_shares`, kernel/sched/fair.c). Weights are
//! exact on each CPU; over several CPUs they are only as exact as load balancing spreads every
//! group evenly. Known since group scheduling exists (6b2d770026, 2.6.28: 58 : 24 : 18 for three
//! equal groups of 8, 4 and 3 threads).

use assay_stats::series::at;
use assay_terms::Measure;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};
use assay_verdict::wording::{percent, some_of};
use assay_verdict::{Cause, ProofState};

use super::fit::Fit;
use super::per_cpu::{PerCpu, Without};
use super::rules::{Case, Finding, NEGLIGIBLE, Rule};
use super::{Strength, Suspicion};
use crate::cpus::Shared;
use crate::estimates::Estimates;
use crate::repeat::Repeat;
use crate::sorted::Sorted;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-CPU-IMBALANCE",
    what: "The groups' threads were not spread evenly over the CPUs, and weights are exact on each CPU only.",
    found_by: FoundBy::Suspicion,
    fingerprint: "A group has 10 % or more of its time more than its even part on one CPU, second by second (`cpuacct.usage_percpu`), and exact weights on each CPU alone explain the shares.",
    confirm: "One CPU for all groups: the error vanishes.",
    tests: &["one-cpu"],
    effects: &[PredictedEffect {
        of: &["one-cpu"],
        expect: Expect::Vanishes,
        why: "on one CPU weights are kept exactly",
    }],
    remedy: "As many threads in each group as there are CPUs, or a multiple; or dedicated CPUs.",
    source: "kernel/sched/fair.c: calc_group_shares; 6b2d770026 (2.6.28)",
};

const CODE: &str = ENTRY.code;

/// A group whose largest part on one CPU exceeds an even part by this much, averaged over seconds,
/// is unevenly spread: 60 to 40 on two CPUs.
const UNEVEN: f64 = 0.1;

/// Length of the steps in nanoseconds: threads that are apart for a second and swap sides
/// afterwards look even over a minute.
const STEP_NS: u64 = 1_000_000_000;

/// Examines on which CPUs each group ran.
pub(super) fn suspect(repeat: &Repeat<'_>, shared: &Shared, numbers: &Estimates) -> Suspicion {
    if shared.set.len() < 2 {
        return Suspicion::RuledOut(format!("{CODE}: the groups shared one CPU"));
    }
    let table = match repeat.table("cpu_split") {
        Ok(table) => table,
        Err(why) => return Suspicion::NotExamined(format!("{CODE}: {why}")),
    };
    let mut seen = Vec::new();
    for (index, name) in numbers.names().enumerate() {
        match unevenness(repeat, &table, shared, name) {
            Some(uneven) => seen.push((index, uneven)),
            None => {
                let missing = format!("{CODE}: the samples do not show on which CPUs `{name}` ran");
                return Suspicion::NotExamined(missing);
            }
        }
    }
    seen.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most = seen.first().map_or(0.0, |(_, uneven)| *uneven);
    if most < UNEVEN {
        return Suspicion::RuledOut(format!(
            "{CODE}: every group was spread evenly over the CPUs {}, up to {}",
            shared.set,
            percent(most)
        ));
    }
    let predicted = predicted(repeat, &table, shared, numbers);
    let Some(predicted) = predicted else {
        // With a CPU for each group any division could be due to the placement of the groups.
        return Suspicion::Fits(cause(shared, numbers, &seen), Strength::Weak);
    };
    match Fit::new(numbers, &predicted).and_then(|fit| Some((fit.strength()?, fit.explained()))) {
        None => Suspicion::RuledOut(format!(
            "{CODE}: groups were uneven over the CPUs by up to {}, but exact weights on each CPU \
             alone do not explain the shares",
            percent(most)
        )),
        Some((strength, explained)) => {
            let mut cause = cause(shared, numbers, &seen);
            cause.evidence.insert(
                1,
                format!(
                    "exact weights on each CPU, given where the groups ran, explain {} of the \
                     error",
                    percent(explained)
                ),
            );
            Suspicion::Fits(cause, strength)
        }
    }
}

/// Shares each group would have if weights were exact on every CPU alone, given where it ran.
///
/// On CPU `c` a group has the part `W l_c / S_c`, where `l_c` is the part of its load on that CPU
/// and `S_c` the weight of all load there: `sum_c f_c S_c = W` with the part `f_c` of the CPU that
/// it had. That is one unknown per CPU and one equation per group: with more groups than CPUs the
/// equations hold only if this model is right. They are solved second by second; `None` with fewer
/// groups.
fn predicted(
    repeat: &Repeat<'_>,
    table: &Sorted<'_>,
    shared: &Shared,
    numbers: &Estimates,
) -> Option<Vec<f64>> {
    if shared.set.len() >= numbers.groups.len() {
        return None;
    }
    let mut series = Vec::new();
    for name in numbers.names() {
        let mut by_cpu = Vec::new();
        for cpu in shared.set.iter() {
            by_cpu.push(table.sum(name, &[&format!("cpu{cpu}_ns")]).ok()?);
        }
        series.push(by_cpu);
    }
    let weights: Vec<f64> = numbers.promised().collect();
    let mut sums = vec![0.0; weights.len()];
    let mut from = repeat.start_ns;
    while from.checked_add(STEP_NS).is_some_and(|to| to <= repeat.end_ns) {
        let spent: Option<Vec<Vec<f64>>> = series
            .iter()
            .map(|by_cpu| {
                let on = |one| Some(at(one, from + STEP_NS)? - at(one, from)?);
                by_cpu.iter().map(on).collect()
            })
            .collect();
        from += STEP_NS;
        let Some(spent) = spent else { continue };
        for (group, weight) in implied_weights(&spent, &weights).into_iter().enumerate() {
            let had: f64 = spent[group].iter().sum();
            sums[group] += if weight > 0.0 { had * weights[group] / weight } else { 0.0 };
        }
    }
    Some(sums)
}

/// Effective weights of the groups if each CPU divided itself by weight: the solution nearest to
/// the real weights, by multiplicative updates, which keep all values positive.
fn implied_weights(spent: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    const ROUNDS: usize = 100;
    let cpus = 0..spent.first().map_or(0, Vec::len);
    let whole: Vec<f64> =
        cpus.clone().map(|cpu| spent.iter().map(|group| group[cpu]).sum::<f64>()).collect();
    let part = |group: usize, cpu: usize| {
        if whole[cpu] > 0.0 { spent[group][cpu] / whole[cpu] } else { 0.0 }
    };
    let mut on_cpu = vec![1.0 / whole.len().max(1) as f64; whole.len()];
    let implied = |on_cpu: &[f64], group: usize| -> f64 {
        on_cpu.iter().enumerate().map(|(cpu, all)| part(group, cpu) * all).sum()
    };
    for _ in 0..ROUNDS {
        let now: Vec<f64> = (0..weights.len()).map(|group| implied(&on_cpu, group)).collect();
        for (cpu, all) in on_cpu.iter_mut().enumerate() {
            let sum = |of: &dyn Fn(usize) -> f64| {
                (0..weights.len())
                    .map(|group| part(group, cpu) / weights[group] * of(group))
                    .sum::<f64>()
            };
            let (wanted, has) = (sum(&|_| 1.0), sum(&|group| now[group] / weights[group]));
            if has > 0.0 {
                *all *= wanted / has;
            }
        }
    }
    (0..weights.len()).map(|group| implied(&on_cpu, group)).collect()
}

/// By how much the largest part of a group's time on one CPU exceeds an even part, averaged over
/// the steps of the window.
fn unevenness(
    repeat: &Repeat<'_>,
    table: &Sorted<'_>,
    shared: &Shared,
    group: &str,
) -> Option<f64> {
    let mut by_cpu = Vec::new();
    for cpu in shared.set.iter() {
        by_cpu.push(table.sum(group, &[&format!("cpu{cpu}_ns")]).ok()?);
    }
    let (mut sum, mut steps) = (0.0, 0.0);
    let mut from = repeat.start_ns;
    while from.checked_add(STEP_NS).is_some_and(|to| to <= repeat.end_ns) {
        let spent: Option<Vec<f64>> = by_cpu
            .iter()
            .map(|series| Some(at(series, from + STEP_NS)? - at(series, from)?))
            .collect();
        from += STEP_NS;
        let Some(spent) = spent else { continue };
        let all: f64 = spent.iter().sum();
        if all > 0.0 {
            let most = spent.iter().copied().fold(0.0, f64::max);
            sum += most / all - 1.0 / shared.count();
            steps += 1.0;
        }
    }
    (steps > 0.0).then(|| sum / steps)
}

fn cause(shared: &Shared, numbers: &Estimates, seen: &[(usize, f64)]) -> Cause {
    let even = 1.0 / shared.count();
    let uneven: Vec<String> = seen
        .iter()
        .filter(|(_, uneven)| *uneven >= UNEVEN)
        .map(|(index, uneven)| {
            let error = numbers.groups[*index].share / numbers.groups[*index].expected_share - 1.0;
            format!(
                "`{}` had {} of its time on one CPU ({} would be even), and is off by {}",
                numbers.groups[*index].name,
                percent(even + uneven),
                percent(even),
                percent(error)
            )
        })
        .collect();
    Cause {
        code: CODE.to_owned(),
        summary: "suspected: weights act on each CPU separately, and the threads of the \
                  groups were not spread evenly over the CPUs"
            .to_owned(),
        evidence: vec![
            format!("in single seconds {}", some_of(&uneven, "; ")),
            "to test it: let the groups share one CPU (in the shipped study `--set cpus=0`), where \
             the weights are obeyed if this is the cause; or bind one thread of each group to \
             each CPU"
                .to_owned(),
        ],
        strength: None,
    }
}

pub(super) const RULE: Rule = Rule {
    code: CODE,
    summary: "weights act on each CPU separately, and the threads of the groups were not spread evenly over the CPUs",
    proof: "By the time that threads ran and waited on each CPU, a tenth or more of a group's threads too many were on one of them; weights kept on each CPU, with what others took and quotas held back, give three quarters of the errors; and a quarter or less is left of them with evenly spread threads. Others hardly used a CPU where threads are missing, or no thread could leave its CPU: otherwise these may have moved away from others.",
    excluded: "The groups share one CPU.",
    concerns: Measure::is_cpu,
    examine,
};

fn examine(case: &Case<'_>) -> Option<Finding> {
    if case.cpus.len() == 1 {
        return Some(Finding::excluded("the groups shared one CPU".to_owned()));
    }
    let spread = PerCpu::new(case).filter(|spread| spread.knows_where)?;
    let (group, cpu, uneven) = spread.most_uneven()?;
    let evidence = format!(
        "`{}` had {:.2} of its {:.1} threads on CPU {} on average, {} more than an even part",
        case.names[group],
        spread.present[group][cpu],
        spread.present[group].iter().sum::<f64>(),
        case.cpus[cpu],
        percent(uneven)
    );
    let mut found = spread.judge(case, Without::Unevenness, &evidence)?;
    let others_on = |cpu: usize| case.others_on.as_ref().map_or(1.0, |others| others[cpu]);
    let pushed = !case.is_bound
        && (0..case.cpus.len()).any(|cpu| {
            others_on(cpu).max(spread.taken(cpu)) >= NEGLIGIBLE && spread.lacks(cpu) >= UNEVEN
        });
    if uneven < UNEVEN || pushed || found.state == ProofState::Excluded {
        // Threads that swap sides every second look even in a sum: that excludes nothing.
        found.state = ProofState::Contributes;
    }
    Some(found)
}
