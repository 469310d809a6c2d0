//! Causes of shares of CPU time that the kernel's events prove, from the documents of a run.

use std::sync::Arc;

use assay_blame::{Answer, Counted, CpuPart, Culprit, EVIDENCE_SCHEMA, Evidence, Names, Part};
use assay_host::facts::Available;
use assay_judge::verdict::{ProofState, Verdict};
use assay_record::run_folder::{
    EvidenceRecord, PlacementRecord, RelationRecord, RepeatRecord, Table, TrialRecord, WarmUpRecord,
};

use crate::synthetic::{Run, Scenario, table};

/// Seconds of a repeat, its warm-up included.
const SECONDS: f64 = 20.0;

/// CPUs that each of three groups kept busy: the third has CPU 0 for itself, and the others share CPU 1 by weight.
type Busy = [[f64; 2]; 3];
const APART: Busy = [[0.0, 1.0 / 3.0], [0.0, 2.0 / 3.0], [1.0, 0.0]];

/// The same while others use half of CPU 1.
const PUSHED: Busy = [[1.0 / 3.0, 0.0], [2.0 / 3.0, 0.0], [0.0, 0.5]];

fn split(busy: Busy) -> Table {
    let groups = ["task1", "task2", "task3"];
    table("cpu_split", &groups, &["cpu0_ns", "cpu1_ns"], 21, |group, ns| {
        busy[group].map(|part| (part * ns as f64) as u64).to_vec()
    })
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Two threads, all on the CPU on which the group ran, which others used for this part of the time.
fn answer(group: usize, on: [f64; 2], others: f64) -> Answer {
    let cpu = usize::from(on[1] > 0.0);
    let part = |culprit, seconds: f64| Part {
        culprit,
        group: None,
        owner: None,
        ns: ns(seconds),
        percent: 0.0,
    };
    let waited = (2.0 - on[cpu]) * SECONDS;
    let foreign = if cpu == 1 { 2.0 * others * SECONDS } else { 0.0 };
    let parts =
        vec![part(Culprit::OwnThreads, waited - foreign), part(Culprit::Ungrouped, foreign)];
    let nothing = Counted { cpus: Vec::new() };
    let empty = Answer::new(&format!("task{}", group + 1), SECONDS, &nothing, &Names::default());
    let cpus = vec![CpuPart { cpu, waited_ns: ns(waited), ran_ns: None, parts: parts.clone() }];
    Answer { waited_ns: ns(waited), parts, cpus, ..empty }
}

/// A run of three groups of weights 1:2:4 on two CPUs.
fn run(busy: Busy, others: f64, warm_up_s: f64) -> Run {
    let warm_up = WarmUpRecord::Seconds(warm_up_s);
    run_of(Scenario { idle: 0.0, warm_up, ..Scenario::new(&[100, 200, 400]) }, busy, others)
}

fn run_of(scenario: Scenario, busy: Busy, others: f64) -> Run {
    let used = busy.map(|on| on[0] + on[1]);
    let all: f64 = used.iter().sum();
    let follows = RelationRecord::Proportional("io.weight".to_owned());
    let shares = used.map(|one| one / all);
    let mut run = scenario.shares(&shares).promise("cpu.time", follows).run();
    run.manifest.host.cpus.allowed = "0-1".parse().unwrap();
    run.trial().groups.iter_mut().for_each(|group| group.workloads[0].threads = Some(2));
    run.samples[0][0].push(split(busy));
    let answers = (0..3).map(|group| answer(group, busy[group], others)).collect();
    let evidence = Evidence {
        schema: EVIDENCE_SCHEMA,
        seconds: SECONDS,
        cpu: Available::Value(answers),
        disks: Available::NotAvailable("no group uses a disk".to_owned()),
    };
    let document = Some(Arc::new(evidence));
    let add = |repeat: &mut RepeatRecord| {
        repeat.evidence = Some(EvidenceRecord { cpu_s: None, document: document.clone() });
    };
    run.trial().repeats.iter_mut().for_each(add);
    run
}

/// Lets the events say on which CPUs the groups ran.
fn set_ran(run: &mut Run, busy: Busy) {
    for repeat in &mut run.trial().repeats {
        let record = repeat.evidence.as_mut().unwrap();
        let mut evidence = Evidence::clone(record.document.as_ref().unwrap());
        let Available::Value(answers) = &mut evidence.cpu else { panic!("no answers") };
        for (answer, on) in answers.iter_mut().zip(busy) {
            let used = |cpu: usize| Some(ns(on[cpu] * SECONDS));
            answer.cpus.iter_mut().for_each(|part| part.ran_ns = used(part.cpu));
        }
        record.document = Some(Arc::new(evidence));
    }
}

/// Two CPUs that user space keeps busy.
fn busy_cpus() -> Table {
    let columns = [
        "user_ns",
        "nice_ns",
        "system_ns",
        "idle_ns",
        "iowait_ns",
        "irq_ns",
        "softirq_ns",
        "steal_ns",
    ];
    table("cpus", &["cpu0", "cpu1"], &columns, 200, |_, ns| {
        let mut row = vec![0; columns.len()];
        row[0] = ns;
        row
    })
}

/// Binds every workload to the CPU on which it ran.
fn bind(trial: &mut TrialRecord, busy: Busy) {
    let placed = trial.groups.iter().zip(busy).map(|(group, on)| PlacementRecord {
        workload: group.workloads[0].name.clone(),
        group: group.name.clone(),
        asked_cpus: None,
        cpus: Some(if on[1] > 0.0 { "1" } else { "0" }.parse().unwrap()),
        memory: None,
        huge_pages: None,
        pages: std::collections::BTreeMap::default(),
    });
    trial.placements = placed.collect();
}

fn imbalance(run: &Run) -> Option<ProofState> {
    let judged = run.promise();
    assert_eq!(judged.verdict, Verdict::Broken, "{}", judged.reason);
    let found = judged.proofs.iter().find(|proof| proof.code == "C-CPU-IMBALANCE");
    found.map(|proof| proof.state)
}

/// Events count from the common start on, and the CPU time is that of the judged seconds.
#[test]
fn no_thread_is_missed_for_a_warm_up() {
    for warm_up_s in [0.0, 4.8] {
        let mut run = run(APART, 0.0, warm_up_s);
        run.samples[0][0].push(busy_cpus());
        assert_eq!(imbalance(&run), Some(ProofState::Proven));
    }
}

/// Two repeats decide nothing, and what happened in their seconds is a fact all the same.
#[test]
fn the_cause_of_what_was_broken_is_proven_for_the_observed_seconds() {
    let scenario =
        Scenario { idle: 0.0, repeats: 2, between: 0.02, ..Scenario::new(&[100, 200, 400]) };
    let mut apart = run_of(scenario.clone(), APART, 0.0);
    apart.samples[0].iter_mut().for_each(|repeat| repeat.push(busy_cpus()));
    set_ran(&mut apart, APART);
    let judged = apart.promise();
    assert_eq!(judged.verdict, Verdict::Undecided, "{}", judged.reason);
    assert!(judged.reason.contains("a verdict takes 8 or more"), "{}", judged.reason);
    let [first, ..] = &judged.causes[..] else { panic!("{judged:?}") };
    assert_eq!(first.code, "C-CPU-IMBALANCE", "{first:?}");
    assert!(first.summary.starts_with("proven for the observed seconds: weights"), "{first:?}");
    let even = [[1.0 / 7.0; 2], [2.0 / 7.0; 2], [4.0 / 7.0; 2]];
    let kept = run_of(scenario, even, 0.0).promise();
    assert!(kept.proofs.is_empty(), "{:?}", kept.proofs);
}

/// cgroup2 does not count groups on each CPU; events do.
#[test]
fn on_cgroup2_events_have_where_groups_ran() {
    let mut v2 = run(APART, 0.0, 0.0);
    v2.samples[0][0].retain(|table| table.source != "cpu_split");
    bind(v2.trial(), APART);
    assert_eq!(imbalance(&v2), None, "nothing has it");
    set_ran(&mut v2, APART);
    assert_eq!(imbalance(&v2), Some(ProofState::Proven));
    v2.trial().placements.clear();
    let found = imbalance(&v2);
    assert_eq!(found, Some(ProofState::Contributes), "the host's use of each CPU was not sampled");
    v2.samples[0][0].push(busy_cpus());
    assert_eq!(imbalance(&v2), Some(ProofState::Proven), "all of it by the groups");
}

#[test]
fn threads_that_could_not_leave_their_cpus_were_not_pushed_away() {
    let mut pushed = run(PUSHED, 0.5, 0.0);
    // What others used is no matter here of the host's own counters, by which the run would be void.
    assert_eq!(imbalance(&pushed), Some(ProofState::Contributes));
    bind(pushed.trial(), PUSHED);
    assert_eq!(imbalance(&pushed), Some(ProofState::Proven));
}
