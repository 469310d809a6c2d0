//! C-CPU-IMBALANCE: a group's threads were not spread evenly over the CPUs.
//!
//! The kernel has a run queue for each CPU, and a group's weight is divided among the queues that
//! hold its threads, by their load averages (`calc_group_shares`, kernel/sched/fair.c). Weights are
//! exact on each CPU; over several CPUs they are only as exact as load balancing spreads every
//! group evenly. Known since group scheduling exists (6b2d770026, 2.6.28: 58 : 24 : 18 for three
//! equal groups of 8, 4 and 3 threads).

use assay_judge::cpus::Shared;
use assay_judge::repeat::Repeat;
use assay_judge::verdict::wording::{percent, some_of};
use assay_judge::verdict::{ProofState, Strength};
use assay_record::terms::Measure;
use assay_stats::series::at;

use super::per_cpu::{PerCpu, Without};
use super::rules::{Case, Finding, NEGLIGIBLE, Rule};
use super::{CauseEntry, Examined, Outcome, PredictedEffect, Suspect, Symptom};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-CPU-IMBALANCE",
    what: "The groups' threads were not spread evenly over the CPUs, and weights are exact on each CPU only.",
    fingerprint: "A group has 10 % or more of its time more than its even part on one CPU, second by second (`cpuacct.usage_percpu`), and exact weights on each CPU alone explain the shares.",
    confirm: "One CPU for all groups: the error vanishes.",
    tests: &["one-cpu"],
    effects: &[PredictedEffect::ONE_CPU],
    remedy: "As many threads in each group as there are CPUs, or a multiple; or dedicated CPUs.",
    source: "kernel/sched/fair.c: calc_group_shares; 6b2d770026 (2.6.28)",
    ..CauseEntry::suspected(Suspect::Cpus(suspect))
};

/// A group whose largest part on one CPU exceeds an even part by this much, averaged over seconds,
/// is unevenly spread: 60 to 40 on two CPUs.
const UNEVEN: f64 = 0.1;

/// Length of the steps in nanoseconds: threads that are apart for a second and swap sides
/// afterwards look even over a minute.
const STEP_NS: u64 = 1_000_000_000;

/// Examines on which CPUs each group ran.
fn suspect(symptom: &Symptom<'_, '_>, shared: &Shared) -> Examined {
    if shared.set.len() < 2 {
        return Ok(Outcome::RuledOut("the groups shared one CPU".to_owned()));
    }
    let ran = Ran::new(symptom, shared)?;
    let mut uneven = Vec::new();
    for (group, name) in symptom.names.iter().enumerate() {
        let unknown = || format!("the samples do not show on which CPUs `{name}` ran");
        uneven.push((group, ran.unevenness(group).ok_or_else(unknown)?));
    }
    uneven.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most = uneven.first().map_or(0.0, |(_, uneven)| *uneven);
    if most < UNEVEN {
        return Ok(Outcome::RuledOut(format!(
            "every group was spread evenly over the CPUs {}, up to {}",
            shared.set,
            percent(most)
        )));
    }
    let even = 1.0 / shared.count();
    let far = uneven.iter().filter(|(_, uneven)| *uneven >= UNEVEN);
    let far = far.map(|(group, uneven)| {
        format!(
            "`{}` had {} of its time on one CPU ({} would be even), and is off by {}",
            symptom.names[*group],
            percent(even + uneven),
            percent(even),
            percent(symptom.times(*group) - 1.0)
        )
    });
    let mut evidence =
        vec![format!("in single seconds {}", some_of(&far.collect::<Vec<_>>(), "; "))];
    let mut strength = Strength::Weak;
    // With a CPU for each group any division could be due to the placement of the groups.
    if shared.set.len() < symptom.names.len() {
        let predicted = ran.by_exact_weights(&symptom.promised());
        let fit = symptom.fit(&predicted).and_then(|fit| Some((fit.strength()?, fit.explained())));
        let Some((fitting, explained)) = fit else {
            return Ok(Outcome::RuledOut(format!(
                "groups were uneven over the CPUs by up to {}, but exact weights on each CPU alone do not explain the \
                 shares",
                percent(most)
            )));
        };
        strength = fitting;
        evidence.push(format!(
            "exact weights on each CPU, given where the groups ran, explain {} of the error",
            percent(explained)
        ));
    }
    evidence.push(
        "to test it: let the groups share one CPU (in the shipped study `--set cpus=0`), where the weights are \
         obeyed if this is the cause; or bind one thread of each group to each CPU"
            .to_owned(),
    );
    let what = "weights act on each CPU separately, and the threads of the groups were not spread evenly over the CPUs";
    Ok(Outcome::Fits(strength, what, evidence))
}

/// Where the groups ran, second by second.
struct Ran<'a, 'r> {
    repeat: &'a Repeat<'r>,
    /// By group and CPU.
    series: Vec<Vec<Vec<(u64, f64)>>>,
}

impl<'a, 'r> Ran<'a, 'r> {
    fn new(symptom: &Symptom<'a, 'r>, shared: &Shared) -> Result<Self, String> {
        let repeat = symptom.repeat();
        let table = repeat.table("cpu_split")?;
        let of = |name: &String| {
            let columns = shared.set.iter().map(|cpu| format!("cpu{cpu}_ns"));
            let on = |column: String| table.sum(name, &[&column]).ok();
            columns.map(on).collect::<Option<_>>().unwrap_or_default()
        };
        Ok(Self { repeat, series: symptom.names.iter().map(of).collect() })
    }

    /// What these groups used of each CPU in each second in which that is known of all of them.
    fn seconds(&self, groups: std::ops::Range<usize>) -> Vec<Vec<Vec<f64>>> {
        let (mut all, mut from) = (Vec::new(), self.repeat.start_ns);
        while from.checked_add(STEP_NS).is_some_and(|to| to <= self.repeat.end_ns) {
            let on = |one: &Vec<_>| Some(at(one, from + STEP_NS)? - at(one, from)?);
            let of = |group: usize| self.series[group].iter().map(on).collect();
            all.extend(groups.clone().map(of).collect::<Option<Vec<Vec<f64>>>>());
            from += STEP_NS;
        }
        all
    }

    /// By how much the largest part of a group's time on one CPU exceeds an even part, averaged over
    /// the steps of the window.
    fn unevenness(&self, group: usize) -> Option<f64> {
        let (mut sum, mut steps) = (0.0, 0.0);
        for spent in self.seconds(group..group + 1).iter().map(|groups| &groups[0]) {
            let all: f64 = spent.iter().sum();
            if all > 0.0 {
                let most = spent.iter().copied().fold(0.0, f64::max);
                sum += most / all - 1.0 / spent.len() as f64;
                steps += 1.0;
            }
        }
        (steps > 0.0).then(|| sum / steps)
    }

    /// Shares each group would have if weights were exact on every CPU alone, given where it ran.
    ///
    /// On CPU `c` a group has the part `W l_c / S_c`, where `l_c` is the part of its load on that CPU
    /// and `S_c` the weight of all load there: `sum_c f_c S_c = W` with the part `f_c` of the CPU that
    /// it had. That is one unknown per CPU and one equation per group: with more groups than CPUs the
    /// equations hold only if this model is right. They are solved second by second.
    fn by_exact_weights(&self, weights: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; weights.len()];
        for spent in self.seconds(0..weights.len()) {
            for (group, weight) in implied_weights(&spent, weights).into_iter().enumerate() {
                let had: f64 = spent[group].iter().sum();
                sums[group] += if weight > 0.0 { had * weights[group] / weight } else { 0.0 };
            }
        }
        sums
    }
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

pub(super) const RULE: Rule = Rule {
    code: ENTRY.code,
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
