//! Weights among groups with unequal numbers of threads.
//!
//! cgroup-v2.rst divides by the ratio of weights, however many threads a group has. Since Linux 7.3 the scheduler multiplies
//! weights by runnable threads, unless `cgroup_mode` says otherwise ([`WeightMode`]). The promise that is judged is the
//! document's; what the running mode promises, and whether it is kept, is in the evidence.

use std::path::Path;

use assay_host::knob::{Contender, Threads, WEIGHT_MODE_FILE, WeightMode};

use super::*;

/// What a group's threads do to its weight. The modes are in no document: kernel/sched/fair.c, `calc_group_shares`.
const THREADS: Topic = CPU
    .documented_in("Documentation/admin-guide/cgroup-v2.rst, Weights")
    .needing(&[Need::Controller("cpu"), Need::Cpus(2)]);
/// In guests only: writing the mode patches the kernel's code, and has ended in a panic.
const MODES: Topic = THREADS.needing(&[
    Need::Controller("cpu"),
    Need::Cpus(2),
    Need::Root,
    Need::WeightModes,
    Need::Emulated,
]);
/// Said before a case that sets `cgroup_mode`.
const WHOLE_HOST: &str = "for some seconds weights of CPU divide by another mode on the whole machine; an emulated guest of \
                          7.3.4 once ended with a kernel panic, since the kernel patches its code for that";

pub(crate) const CASES: &[Case] = &[
    THREADS.case(
        "weights-count-whatever-the-number-of-threads",
        "Groups of equal weight with one thread and four on one CPU get a half of it each.",
        one_beside_four,
    ),
    THREADS.case(
        "weights-in-proportion-to-threads-count-once",
        "Groups with weights 1:4, with one thread and four on one CPU, get its time 1:4.",
        // As runtimes set them that weigh by size.
        |fixture| run(fixture, &on_one_cpu(fixture, [(100, 1), (400, 4)])),
    ),
    THREADS.case(
        "weights-divide-among-groups-with-as-many-threads",
        "Groups with weights 1:2 and four threads each on one CPU get its time 1:2.",
        |fixture| run(fixture, &on_one_cpu(fixture, [(100, 4), (200, 4)])),
    ),
    THREADS.case(
        "a-group-beside-single-threads-counts-as-one",
        "A group with threads on two CPUs, beside one thread in a group of equal weight on each, \
         gets a third of both.",
        |fixture| {
            // On each of two CPUs one thread, alone in its group as threads of the root are, and
            // two of a third group.
            let group = |threads: [f64; 2]| {
                contender(fixture, 100, Threads::Bound(threads.to_vec()))
            };
            run(fixture, &[group([1.0, 0.0]), group([0.0, 1.0]), group([2.0, 2.0])])
        },
    ),
    THREADS.case(
        "weights-count-whatever-the-number-of-free-threads",
        "Groups of equal weight, with threads for half of the CPUs and for twice all of them, get a \
         half of all each.",
        |fixture| {
            let cpus = fixture.cpus().len() as f64;
            let group = |threads: f64| contender(fixture, 100, Threads::Free(threads));
            run(fixture, &[group((cpus / 2.0).floor()), group(2.0 * cpus)])
        },
    ),
    THREADS.case(
        "weights-divide-among-groups-with-as-many-free-threads",
        "Groups with weights 1:2 and twice as many threads as CPUs get the CPUs 1:2.",
        |fixture| {
            let threads = Threads::Free(2.0 * fixture.cpus().len() as f64);
            let group = |weight| contender(fixture, weight, threads.clone());
            run(fixture, &[group(100), group(200)])
        },
    ),
    MODES
        .case(
            "with-smp-weights-count-whatever-the-number-of-threads",
            "With cgroup_mode smp, groups of equal weight with one thread and four on one CPU get a \
             half of it each.",
            |fixture| {
                // The case that 7.3 breaks, with the law of the kernels before it.
                set_mode(fixture, WeightMode::Smp)?;
                one_beside_four(fixture)
            },
        )
        .warning(WHOLE_HOST),
    MODES
        .case(
            "each-mode-divides-by-its-law",
            "With each cgroup_mode, groups of equal weight with one thread and four on one CPU get \
             what the mode's law says.",
            |fixture| {
                let groups = on_one_cpu(fixture, [(100, 1), (100, 4)]);
                let probes = start(fixture, &groups)?;
                let mut outcomes = Vec::new();
                for mode in WeightMode::ALL {
                    set_mode(fixture, mode)?;
                    let laws = divide(mode, fixture, &groups);
                    let outcome = measure(fixture, &probes, |windows| nearest(windows, &laws))?;
                    outcomes.push(outcome.with(format!("that was `{mode}`")));
                }
                Ok(Outcome::all(outcomes))
            },
        )
        .warning(WHOLE_HOST),
];

/// The averages by which the kernel counts a group's threads come within a 64th of the truth in 0.2 s (half-life 32 ms).
const UNTIL_COUNTED: f64 = 0.5;

/// Equal weights, one thread and four on one CPU.
fn one_beside_four(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    run(fixture, &on_one_cpu(fixture, [(100, 1), (100, 4)]))
}

fn contender(fixture: &Fixture, weight: u64, threads: Threads) -> Contender {
    Contender { weight: weight as f64, threads, cpus: fixture.cpus().len() as f64 }
}

/// Groups of these weights and numbers of threads, all on the last CPU.
fn on_one_cpu(fixture: &Fixture, groups: [(u64, u32); 2]) -> Vec<Contender> {
    let place = fixture.cpus().len().saturating_sub(1);
    let of = |(weight, threads)| {
        let mut on = vec![0.0; place + 1];
        on[place] = f64::from(threads);
        contender(fixture, weight, Threads::Bound(on))
    };
    groups.map(of).to_vec()
}

fn set_mode(fixture: &mut Fixture, mode: WeightMode) -> Result<(), Error> {
    fixture.ledger.write_file(fixture.root, Path::new(WEIGHT_MODE_FILE), mode.name())
}

/// The mode as it is now: a case may have set it.
fn running(fixture: &Fixture) -> WeightMode {
    let read = assay_host::weight_mode(fixture.root);
    WeightMode::of_host(Some(&read), &fixture.facts.kernel).0
}

/// Every division that the mode's law allows.
fn divide(mode: WeightMode, fixture: &Fixture, groups: &[Contender]) -> Vec<Vec<f64>> {
    let cpus = fixture.cpus().len();
    match groups.iter().any(|group| matches!(group.threads, Threads::Bound(_))) {
        true => mode.divide_each_cpu(cpus, groups),
        false => mode.divide(cpus as f64, groups),
    }
}

/// The probes of each group.
fn start(fixture: &Fixture, groups: &[Contender]) -> Result<Vec<Vec<Running>>, Error> {
    fixture.go_first()?;
    let cpus = fixture.cpus();
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
    let laws = divide(mode, fixture, groups);
    measure(fixture, &probes, |windows| judge_both(windows, &documented, mode, &laws))
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

/// By the division that is nearest, of those that the law allows.
fn nearest(windows: &[Window], laws: &[Vec<f64>]) -> Outcome {
    let rank = |outcome: &Outcome| match outcome.verdict {
        Verdict::Kept => 0,
        Verdict::Undecided => 1,
        _ => 2,
    };
    let outcomes = laws.iter().map(|law| judge(windows, law));
    outcomes.min_by_key(rank).unwrap_or_else(|| Outcome::void("no groups"))
}

fn judge_both(
    windows: &[Window],
    documented: &[Vec<f64>],
    mode: WeightMode,
    laws: &[Vec<f64>],
) -> Outcome {
    if documented == laws {
        let same = format!("the running mode `{mode}` promises the same");
        return nearest(windows, documented).with(same);
    }
    let by_mode = nearest(windows, laws);
    let words = format!("by the running mode `{mode}`: {}", by_mode.verdict);
    let evidence = by_mode.evidence.into_iter();
    evidence.fold(nearest(windows, documented).with(words), Outcome::with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::of_cpus as windows;

    /// As measured on 7.3.4 with two CPUs: 0.329 to 0.671.
    #[test]
    fn weights_times_threads_break_the_document_and_keep_the_mode() {
        let (same, law) = (vec![vec![0.5, 0.5]], vec![vec![1.0, 1.0], vec![1.0, 2.0]]);
        let judged = judge_both(&windows(&[0.33, 0.67]), &same, WeightMode::Concur, &law);
        assert_eq!(judged.verdict, Verdict::Broken);
        assert!(judged.evidence.iter().any(|line| line.contains("`concur`: kept")), "{judged:?}");
        let kept = judge_both(&windows(&[0.5, 0.5]), &same, WeightMode::Smp, &same);
        assert_eq!(kept.verdict, Verdict::Kept);
    }
}
