//! Weights among groups with unequal numbers of threads.
//!
//! cgroup-v2.rst divides by the ratio of weights, however many threads a group has. Since Linux 7.3 the scheduler multiplies
//! weights by runnable threads, unless `cgroup_mode` says otherwise ([`WeightMode`]). The promise that is judged is the
//! document's; what the running mode promises, and whether it is kept, is in the evidence.

use std::path::Path;

use assay_kernel::Error;
use assay_knob::{Contender, Threads, WEIGHT_MODE_FILE, WeightMode};

use super::weight::{cpu_times, judge, make};
use crate::fixture::Fixture;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;
use crate::windows::Window;

/// The averages by which the kernel counts a group's threads come within a 64th of the truth in 0.2 s (half-life 32 ms).
const UNTIL_COUNTED: f64 = 0.5;

/// Equal weights, one thread and four on one CPU.
pub(super) fn one_beside_four(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    run(fixture, &on_one_cpu(fixture, [(100, 1), (100, 4)]))
}

/// Weights 1:2 for two threads and four, as runtimes set them that weigh by size.
pub(super) fn two_beside_four(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    run(fixture, &on_one_cpu(fixture, [(100, 2), (200, 4)]))
}

/// The twin: weights 1:2, four threads each.
pub(super) fn four_beside_four(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    run(fixture, &on_one_cpu(fixture, [(100, 4), (200, 4)]))
}

/// On each of two CPUs one thread, each alone in its group as threads of the root are, and two of a third group.
pub(super) fn beside_single_threads(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let group = |threads: [f64; 2]| contender(fixture, 100, Threads::Bound(threads.to_vec()));
    run(fixture, &[group([1.0, 0.0]), group([0.0, 1.0]), group([2.0, 2.0])])
}

/// Threads that may move: half as many as CPUs, beside twice as many.
pub(super) fn free(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let cpus = cpus(fixture).len() as f64;
    let group = |threads: f64| contender(fixture, 100, Threads::Free(threads));
    run(fixture, &[group((cpus / 2.0).floor()), group(2.0 * cpus)])
}

/// The twin of that: twice as many in both.
pub(super) fn free_and_equal(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let threads = Threads::Free(2.0 * cpus(fixture).len() as f64);
    let group = |weight| contender(fixture, weight, threads.clone());
    run(fixture, &[group(100), group(200)])
}

/// The case that 7.3 breaks, with the law of the kernels before it.
pub(super) fn one_beside_four_with_smp(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    set_mode(fixture, WeightMode::Smp)?;
    one_beside_four(fixture)
}

/// Each mode that the kernel offers, by its own law.
pub(super) fn each_mode(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let groups = on_one_cpu(fixture, [(100, 1), (100, 4)]);
    let probes = start(fixture, &groups)?;
    let mut outcomes = Vec::new();
    for mode in WeightMode::ALL {
        set_mode(fixture, mode)?;
        let law = divide(mode, fixture, &groups);
        let outcome = measure(fixture, &probes, |windows| judge(windows, &law))?;
        outcomes.push(outcome.with(format!("that was `{mode}`")));
    }
    Ok(Outcome::all(outcomes))
}

fn contender(fixture: &Fixture, weight: u64, threads: Threads) -> Contender {
    Contender { weight: weight as f64, threads, cpus: cpus(fixture).len() as f64 }
}

/// Groups of these weights and numbers of threads, all on the last CPU.
fn on_one_cpu(fixture: &Fixture, groups: [(u64, u32); 2]) -> Vec<Contender> {
    let place = cpus(fixture).len().saturating_sub(1);
    let of = |(weight, threads)| {
        let mut on = vec![0.0; place + 1];
        on[place] = f64::from(threads);
        contender(fixture, weight, Threads::Bound(on))
    };
    groups.map(of).to_vec()
}

fn cpus(fixture: &Fixture) -> Vec<u16> {
    fixture.facts().cpus.allowed.iter().collect()
}

fn set_mode(fixture: &mut Fixture, mode: WeightMode) -> Result<(), Error> {
    let root = fixture.root().clone();
    fixture.ledger().write_file(&root, Path::new(WEIGHT_MODE_FILE), mode.name())
}

/// The mode as it is now: a case may have set it.
fn running(fixture: &Fixture) -> WeightMode {
    let read = assay_host::weight_mode(fixture.root());
    WeightMode::of_host(Some(&read), &fixture.facts().kernel).0
}

fn divide(mode: WeightMode, fixture: &Fixture, groups: &[Contender]) -> Vec<f64> {
    let cpus = cpus(fixture).len();
    match groups.iter().any(|group| matches!(group.threads, Threads::Bound(_))) {
        true => mode.divide_each_cpu(cpus, groups),
        false => mode.divide(cpus as f64, groups),
    }
}

/// The probes of each group.
fn start(fixture: &Fixture, groups: &[Contender]) -> Result<Vec<Vec<Running>>, Error> {
    fixture.go_first()?;
    let cpus = cpus(fixture);
    let mut started = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let name = format!("g{number}");
        make(fixture, &name, group.weight as u64)?;
        let words: Vec<String> = match &group.threads {
            Threads::Free(threads) => vec![format!("spin threads={threads}")],
            Threads::Bound(on) => {
                let used = on.iter().zip(&cpus).filter(|(threads, _)| **threads > 0.0);
                used.map(|(threads, cpu)| format!("spin threads={threads} cpu={cpu}")).collect()
            }
        };
        let probes = words.iter().map(|words| fixture.start(&name, words));
        started.push(probes.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(started)
}

/// By what cgroup-v2.rst says, which is what `smp` divides these groups by; and by the running mode.
fn run(fixture: &Fixture, groups: &[Contender]) -> Result<Outcome, Stop> {
    let probes = start(fixture, groups)?;
    let documented = divide(WeightMode::Smp, fixture, groups);
    let mode = running(fixture);
    let law = divide(mode, fixture, groups);
    measure(fixture, &probes, |windows| judge_both(windows, &documented, mode, &law))
}

fn measure(
    fixture: &Fixture,
    probes: &[Vec<Running>],
    judge: impl Fn(&[Window]) -> Outcome,
) -> Result<Outcome, Stop> {
    fixture.pause(UNTIL_COUNTED)?;
    let of_groups = || probes.iter().map(|one| Ok(cpu_times(one)?.into_iter().sum())).collect();
    fixture.settle(8, &[0.25, 1.0], of_groups, judge)
}

fn judge_both(windows: &[Window], documented: &[f64], mode: WeightMode, law: &[f64]) -> Outcome {
    if documented == law {
        let same = format!("the running mode `{mode}` promises the same");
        return judge(windows, documented).with(same);
    }
    let by_mode = judge(windows, law);
    let words = format!("by the running mode `{mode}`: {}", by_mode.verdict);
    let evidence = by_mode.evidence.into_iter();
    evidence.fold(judge(windows, documented).with(words), Outcome::with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;
    use crate::windows::of_cpus as windows;

    /// As measured on 7.3.4 with two CPUs: 0.329 to 0.671.
    #[test]
    fn weights_times_threads_break_the_document_and_keep_the_mode() {
        let judged =
            judge_both(&windows(&[0.33, 0.67]), &[0.5, 0.5], WeightMode::Concur, &[1.0, 2.0]);
        assert_eq!(judged.verdict, Verdict::Broken);
        assert!(judged.evidence.iter().any(|line| line.contains("`concur`: kept")), "{judged:?}");
        let kept = judge_both(&windows(&[0.5, 0.5]), &[0.5, 0.5], WeightMode::Smp, &[0.5, 0.5]);
        assert_eq!(kept.verdict, Verdict::Kept);
    }
}
