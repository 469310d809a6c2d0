//! Checks of the surroundings: the disk's other users, the hypervisor, the clock, swap, and the
//! level at which a knob is set.

use assay_judge::verdict::{Check, Verdict};
use assay_record::run_folder::GroupRecord;

use crate::synthetic::{Run, Scenario, table};

const LADDER: [u32; 4] = [100, 200, 400, 800];

fn run() -> Run {
    Scenario::new(&LADDER).run()
}

/// The check fails, voids the promise, and proves this cause first.
fn assert_void(run: &Run, name: &str, code: &str, evidence: &str) {
    let trial = run.judge().trials.remove(0);
    let check: &Check = trial.validity.iter().find(|check| check.check == name).unwrap();
    assert!(!check.ok && check.evidence.contains(evidence), "{}", check.evidence);
    assert_eq!(trial.promises[0].verdict, Verdict::Void);
    assert_eq!(trial.promises[0].causes[0].code, code);
}

#[test]
fn a_neighbour_on_the_disk_voids_its_shares() {
    let mut run = run();
    for sectors in run.column("disk", "read_sectors").iter_mut().flatten() {
        *sectors = *sectors * 5 / 4;
    }
    assert_void(&run, "neighbours", "C-DISK-OTHERS", "20.");
}

/// The thesis's key-value store used the disk outside of the groups that divided it.
#[test]
fn a_workload_of_the_study_outside_of_all_groups_is_no_neighbour() {
    let mut run = run();
    for sectors in run.column("disk", "read_sectors").iter_mut().flatten() {
        *sectors = *sectors * 5 / 4;
    }
    let store = GroupRecord { name: "store".to_owned(), outside: true, ..GroupRecord::default() };
    run.manifest.trials[0].groups.push(store);
    let trial = run.judge().trials.remove(0);
    let check = trial.validity.iter().find(|check| check.check == "neighbours").unwrap();
    assert!(check.ok && check.evidence.contains("`store` runs outside"), "{}", check.evidence);
    assert_ne!(trial.promises[0].verdict, Verdict::Void);
}

#[test]
fn a_hypervisor_that_takes_the_cpus_voids_shares_of_the_disk() {
    let mut run = run();
    let user = run.column("host_cpu", "user_ns").clone();
    for (steal, user) in run.column("host_cpu", "steal_ns").iter_mut().zip(&user) {
        *steal = *user;
    }
    assert_void(&run, "steal", "C-STEAL", "the hypervisor took 28.6 %");
}

/// The guest was stopped for a while in the second half: its CPUs account for no time then.
#[test]
fn a_machine_that_was_stopped_voids() {
    let mut run = run();
    let readings = run.column("host_cpu", "user_ns").len();
    for column in ["user_ns", "idle_ns", "iowait_ns"] {
        let values = run.column("host_cpu", column);
        let held = values[readings * 3 / 4];
        values[readings * 3 / 4..].iter_mut().for_each(|value| *value = held);
    }
    assert_void(&run, "clock", "C-CLOCK", "apart");
}

#[test]
fn a_host_that_swaps_voids_shares() {
    let mut swapping = run();
    let columns = ["pswpin", "pswpout"];
    let pages = |ns: u64| vec![ns / 2_000_000, ns / 4_000_000];
    swapping.samples[0][0].push(table("vmstat", &["host"], &columns, 200, |_, ns| pages(ns)));
    assert_void(&swapping, "swap", "C-SWAP", "750 pages a second");
    let mut calm = run();
    calm.samples[0][0].push(table("vmstat", &["host"], &columns, 200, |_, _| vec![7, 9]));
    assert_ne!(calm.promise().verdict, Verdict::Void);
}

/// Weights on groups inside the competing ones, as containers have them.
#[test]
fn a_weight_on_an_inner_group_divides_nothing() {
    let mut run = run();
    let outer: Vec<_> = run.trial().groups.clone();
    for (index, mut group) in outer.into_iter().enumerate() {
        let inner = format!("task{}", index + 1);
        let pod = format!("pod{}", index + 1);
        let whole = format!("{pod}/{inner}");
        let trial = run.trial();
        trial.groups[index].name.clone_from(&whole);
        group.name = pod;
        group.knobs.clear();
        group.workloads.clear();
        trial.groups.push(group);
        let repeat = run.repeat();
        repeat.knobs[index].group.clone_from(&whole);
        repeat.workloads[index].group.clone_from(&whole);
        for table in &mut run.samples[0][0] {
            for subject in table.subjects.iter_mut().filter(|subject| **subject == inner) {
                subject.clone_from(&whole);
            }
        }
    }
    assert_void(&run, "level", "C-WRONG-LEVEL", "`pod1` competes and has none, `pod1/task1`");
}

#[test]
fn possible_overrides_are_reported_and_void_nothing() {
    let mut run = run();
    let attributes = &mut run.repeat().queues[0].at_start;
    attributes.insert("rotational".to_owned(), "1".to_owned());
    attributes.insert("wbt_lat_usec".to_owned(), "2000".to_owned());
    let trial = run.judge().trials.remove(0);
    let fact = trial.facts.iter().find(|fact| fact.fact == "heuristics").unwrap();
    for said in ["rotational = 1 (counts large random", "wbt_lat_usec = 2000 (throttles"] {
        assert!(fact.evidence.contains(said), "{}", fact.evidence);
    }
    assert_eq!(trial.promises[0].verdict, Verdict::Kept);
}

/// An attribute requested as 0 and switched on meanwhile is named itself.
#[test]
fn low_latency_switched_on_from_outside_is_named() {
    let mut run = run();
    run.repeat().queues[0].at_end.insert("iosched/low_latency".to_owned(), "1".to_owned());
    assert_void(&run, "scheduler", "C-LOW-LATENCY", "reads `1` at the end");
}
