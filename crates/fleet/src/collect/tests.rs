//! Fleets whose tasks have all ended, collected without Slurm.

use assay_files::Trust;
use assay_verdict::TrialJudgement;

use super::*;
use crate::document::{Submission, Task};
use crate::merge::tests::judgement;
use crate::task_runs::MOST_ENTRIES;

/// A fleet of one host whose task was submitted twice: the first run broke the promise and one
/// of its workloads failed.
fn resumed(place: &Path) -> (FleetFolder, Fleet) {
    let folder = FleetFolder::create(place, Trust::Checked).unwrap();
    let submission =
        |job| Submission { job, tasks: vec![0], at: String::new(), script: String::new() };
    let (node, host_name) = ("a".to_owned(), "a".to_owned());
    let fleet = Fleet {
        tasks: vec![Task { node, host_name, seed: 1, slice: None }],
        submissions: vec![submission(17), submission(18)],
        ..Fleet::default()
    };
    let run = FleetFolder::task_folder(0, 17).join("run");
    folder.make_dir(&run).unwrap();
    folder.write_text(&run.join("manifest.json"), "{}").unwrap();
    let found = judgement(4, Verdict::Broken, 100.0, 0.25);
    folder.write_json(&run.join("verdict.json"), &found).unwrap();
    (folder, fleet)
}

#[test]
fn resubmitting_a_task_does_not_undo_its_broken_promise() {
    let place = tempfile::tempdir().unwrap();
    let (folder, fleet) = resumed(&place.path().join("fleet"));
    let slurm = Slurm::from_fleet(&fleet);
    let state = TaskState { state: HostState::Ended, why: None, record: None, may_change: false };
    let found = collect(&folder, &fleet, &[state], &slurm);
    assert_eq!(found.verdict, Verdict::Broken, "{}", found.reason);
    assert_eq!(found.hosts[0].broken_before, ["tasks/00/job-17/run"]);
    assert!(found.reason.starts_with("broken on 1 of 1 host"), "{}", found.reason);
    let promise = &found.trials[0].promises[0];
    assert_eq!((found.trials[0].verdict, promise.verdict), (Verdict::Broken, Verdict::Broken));
    assert_eq!(promise.hosts[0].node, "a (job 17)");
    // Nor if the second run kept the promise.
    let kept = FleetHost { verdict: Some(Verdict::Kept), ..found.hosts[0].clone() };
    assert_eq!(conclude(&[kept], &[], &[]).0, Verdict::Broken);
}

/// The run of one host has a verdict of more trials than any study.
#[test]
fn an_oversized_verdict_is_named_and_the_other_hosts_count() {
    let place = tempfile::tempdir().unwrap();
    let (folder, mut fleet) = resumed(&place.path().join("fleet"));
    fleet.submissions.truncate(1);
    fleet.submissions[0].tasks.push(1);
    fleet.tasks.push(Task { node: "b".to_owned(), ..fleet.tasks[0].clone() });
    let manifest = include_str!("../../../test-support/faults/one-cpu/manifest.json");
    let mut found = judgement(4, Verdict::Kept, 100.0, 0.25);
    for task in [0, 1] {
        let run = FleetFolder::task_folder(task, 17).join("run");
        folder.make_dir(&run).unwrap();
        folder.write_text(&run.join("manifest.json"), manifest).unwrap();
        folder.write_json(&run.join("verdict.json"), &found).unwrap();
        let mut trial = found.trials[0].clone();
        trial.promises.clear();
        found.trials.extend((0..MOST_ENTRIES).map(|number| {
            let factors = BTreeMap::from([("x".to_owned(), number.into())]);
            TrialJudgement { factors, ..trial.clone() }
        }));
    }
    let state = TaskState { state: HostState::Ended, why: None, record: None, may_change: false };
    let states = [state.clone(), state];
    let collected = collect(&folder, &fleet, &states, &Slurm::from_fleet(&fleet));
    assert_eq!(collected.hosts[0].verdict, Some(Verdict::Kept), "{:?}", collected.hosts[0]);
    assert_eq!(collected.hosts[1].verdict, None);
    let why = collected.hosts[1].why.as_ref().unwrap();
    assert!(why.contains("the runs of b in tasks/01 have more than 65536"), "{why}");
    assert_eq!(collected.trials.len(), 1);
}

/// One task has many runs, and another one a few that are large together.
#[test]
fn the_runs_of_one_task_share_one_limit() {
    let place = tempfile::tempdir().unwrap();
    let (folder, mut fleet) = resumed(&place.path().join("fleet"));
    let (node, jobs) = ("b".to_owned(), 1000..1003);
    fleet.tasks.push(Task { node: node.clone(), ..fleet.tasks[0].clone() });
    fleet.tasks.push(Task { node: "c".to_owned(), ..fleet.tasks[0].clone() });
    let submission =
        |job, task| Submission { job, tasks: vec![task], ..fleet.submissions[0].clone() };
    let many = (2000..2150).map(|job| submission(job, 0));
    let large = jobs.clone().map(|job| submission(job, 1));
    let submissions: Vec<_> = many.chain(large).chain([submission(5000, 2)]).collect();
    let mut found = judgement(4, Verdict::Kept, 100.0, 0.25);
    let manifest = include_str!("../../../test-support/faults/one-cpu/manifest.json");
    let write = |task, job, found: &Judgement| {
        let run = FleetFolder::task_folder(task, job).join("run");
        folder.make_dir(&run).unwrap();
        std::fs::write(folder.file(run.join("manifest.json")), manifest).unwrap();
        std::fs::write(folder.file(run.join("verdict.json")), serde_json::to_vec(found).unwrap())
            .unwrap();
    };
    (2000..2150).for_each(|job| write(0, job, &found));
    write(2, 5000, &found);
    found.trials[0].promises.clear();
    found.trials = vec![found.trials[0].clone(); MOST_ENTRIES / 2 + 1];
    jobs.for_each(|job| write(1, job, &found));
    fleet.submissions = submissions;
    let state = TaskState { state: HostState::Ended, why: None, record: None, may_change: false };
    let collected = collect(&folder, &fleet, &vec![state; 3], &Slurm::from_fleet(&fleet));
    let [many, large, other] = collected.hosts.as_slice() else { panic!("three hosts") };
    assert_eq!((many.verdict, large.verdict, other.verdict), (None, None, Some(Verdict::Kept)));
    let why = |host: &FleetHost| host.why.clone().unwrap();
    assert!(why(many).starts_with("the runs of a in tasks/00 are more than 100"), "{}", why(many));
    let expected = "the runs of b in tasks/01 have more than 65536 trials, promises and groups";
    assert!(why(large).starts_with(expected), "{}", why(large));
    assert!(why(large).ends_with("submit the study as a new fleet"), "{}", why(large));
    assert_eq!(collected.verdict, Verdict::Undecided, "{}", collected.reason);
}

#[test]
fn the_verdict_is_written_before_the_samples() {
    let place = tempfile::tempdir().unwrap();
    let (folder, fleet) = resumed(&place.path().join("fleet"));
    let state = TaskState { state: HostState::Ended, why: None, record: None, may_change: false };
    let found = collect(&folder, &fleet, &[state], &Slurm::from_fleet(&fleet));
    folder.write_text(Path::new("samples"), "a file in the way").unwrap();
    assert!(write(&folder, &found).is_err());
    for name in ["fleet-verdict.json", "report.html"] {
        assert!(folder.dir().has_file(name), "{name}");
    }
}

#[test]
fn promises_over_trials_of_different_hosts_are_undecided() {
    let promise = SplitPromise {
        measure: "io.bytes".to_owned(),
        group: None,
        is: "equal".to_owned(),
        over: vec!["x".to_owned()],
    };
    let found = split_comparison(&promise);
    assert_eq!(found.verdict, Verdict::Undecided);
    let host = |node: &str, verdict, code| FleetHost {
        task: 0,
        node: node.to_owned(),
        state: HostState::Ended,
        why: None,
        verdict: Some(verdict),
        code: Some(code),
        seed: 1,
        slice: Some("1/2".to_owned()),
        run: None,
        broken_before: Vec::new(),
        restored: Some(true),
        restored_first: Vec::new(),
        traits: BTreeMap::new(),
    };
    for (verdict, code, expected) in [
        (Verdict::Kept, 0, Verdict::Undecided),
        // Nothing is promised of a single trial.
        (Verdict::Void, 0, Verdict::Undecided),
        (Verdict::Void, 3, Verdict::Void),
        (Verdict::Broken, 1, Verdict::Broken),
    ] {
        let hosts = [host("a", verdict, code), host("b", verdict, code)];
        let (verdict, reason) = conclude(&hosts, std::slice::from_ref(&found), &[]);
        assert_eq!(verdict, expected, "{reason}");
        assert!(reason.contains("not judged across trials: `io.bytes` over x"), "{reason}");
    }
}
