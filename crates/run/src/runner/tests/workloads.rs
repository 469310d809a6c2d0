//! Workloads on a fake host: preparations, delayed starts, and how each of them ended.

use std::path::Path;
use std::time::Duration;

use assay_study::plan::{AfterPlan, GroupPlan, Trial, WorkloadPlan};
use assay_sys::files::Dir;

use super::fake_host::{FakeHost, group, script, trial};
use crate::runner::delayed_start::DelayedStart;
use crate::runner::outcome::result;
use crate::runner::placement::placement;
use crate::runner::prepare::{count, prepare};
use crate::runner::processes::{Process, pause};
use crate::runner::start::Starter;

/// Calls `test` with a starter of the trial's workloads, which run outside of all groups, and the folder that
/// their own folders are in.
fn with_starter<T>(trial: &Trial, test: impl FnOnce(&Starter<'_>, &Path) -> T) -> T {
    let host = FakeHost::with_processes();
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, trial);
    let request = host.request(vec![]);
    let logs = request.folder.dir().make_dir("logs/repeat").unwrap();
    let starter = Starter {
        root: &host.root(),
        tree: &tree,
        trial,
        disks: &[],
        facts: &request.manifest.host,
        cpus: &std::collections::BTreeMap::new(),
        run: request.folder.path(),
        logs: &logs,
        log: "logs/repeat".to_owned(),
    };
    test(&starter, &request.folder.path().join("logs/repeat"))
}

fn wait_for_end(process: &mut Process) {
    for _ in 0..3000 {
        if !process.is_running() {
            return;
        }
        pause(Duration::from_millis(10));
    }
    panic!("it does not end");
}

fn prepared(name: &str, scripts: &[&str]) -> GroupPlan {
    let mut workload = script(name, "true");
    let each = scripts.iter().enumerate();
    workload.prepare = each.map(|(n, text)| script(&format!("{name}.{n}"), text)).collect();
    group("g", vec![workload])
}

#[test]
fn preparations_of_a_workload_run_one_after_another() {
    let scripts = ["echo 1 > ../order", "test -e ../order && echo 2 >> ../order"];
    let trial = trial(vec![prepared("g.w", &scripts)]);
    assert_eq!(count(&trial), 2);
    let mut most = 0;
    let (done, order) = with_starter(&trial, |starter, logs| {
        let done = prepare(&trial, starter, |done| most = most.max(done)).unwrap();
        (done, std::fs::read_to_string(logs.join("order")).unwrap())
    });
    assert!(done.ready && !done.interrupted, "{:?}", done.results);
    assert_eq!(order, "1\n2\n");
    let names: Vec<_> = done.results.iter().map(|result| result.workload.as_str()).collect();
    assert_eq!(names, ["g.w.0", "g.w.1"]);
    assert_eq!(done.results[1].log, "logs/repeat/g.w.prepare-2");
    assert_eq!(most, 2, "progress counts what is done");
}

#[test]
fn after_a_failed_preparation_no_other_is_started() {
    let scripts = ["echo no space >&2; exit 3", "touch ../second"];
    let trial = trial(vec![prepared("g.w", &scripts)]);
    with_starter(&trial, |starter, logs| {
        let done = prepare(&trial, starter, |_| ()).unwrap();
        assert!(!done.ready && !done.interrupted);
        let [failed] = &done.results[..] else { panic!("{:?}", done.results) };
        let why = failed.failure.as_deref().unwrap();
        assert_eq!(why, "exit status 3; last output: no space");
        assert!(!logs.join("second").exists());
    });
}

#[test]
fn a_missing_program_is_an_error_with_a_hint() {
    let mut workload = script("g.w", "");
    if let assay_study::plan::ToolPlan::Invocation(call) = &mut workload.tool {
        call.program = "/nowhere/program".to_owned();
    }
    let trial = trial(vec![group("g", vec![workload])]);
    with_starter(&trial, |starter, _| {
        let group = &trial.groups[0];
        let error = starter.start(group, &group.workloads[0], false).err().unwrap().to_string();
        assert!(error.contains("/nowhere/program") && error.contains("not installed"), "{error}");
    });
}

#[test]
fn a_workload_outside_of_all_groups_needs_the_group_made_for_it() {
    let mut outside = group("", vec![script("w", "true")]);
    outside.outside = true;
    let trial = trial(vec![group("g", vec![])]);
    with_starter(&trial, |starter, _| {
        let error = starter.start(&outside, &outside.workloads[0], false).err().unwrap();
        assert!(error.to_string().contains("no group was created"), "{error}");
    });
}

/// `second` waits for `first`, `never` for one that fails, `last` for a time.
fn delayed() -> Trial {
    let after = |name: &str, after| {
        let mut workload = script(name, "true");
        workload.after = Some(after);
        workload
    };
    let with_script = |workload: WorkloadPlan, text: &str| WorkloadPlan {
        tool: script("", text).tool,
        ..workload
    };
    let on = |name: &str| AfterPlan::Workload(name.to_owned());
    let workloads = vec![
        script("first", "while test ! -e ../go; do sleep 0.01; done"),
        script("fails", "exit 1"),
        with_script(after("second", on("first")), "while :; do sleep 0.01; done"),
        after("never", on("fails")),
        after("third", on("second")),
        after("last", AfterPlan::Time(Duration::from_secs(5))),
    ];
    trial(vec![group("g", workloads)])
}

#[test]
fn delayed_workloads_start_when_they_are_due_and_no_earlier() {
    let trial = delayed();
    with_starter(&trial, |starter, logs| {
        let group = &trial.groups[0];
        let start = |index: usize| starter.start(group, &group.workloads[index], false).unwrap();
        let mut processes = vec![start(0), start(1)];
        let names = |processes: &[Process]| -> Vec<String> {
            processes.iter().map(|process| process.workload.clone()).collect()
        };
        wait_for_end(&mut processes[1]);
        let mut delayed = DelayedStart::new(&trial);
        assert!(delayed.awaits("first") && delayed.awaits("second") && !delayed.awaits("last"));
        delayed.start_due(4_999_999_999, starter, &mut processes).unwrap();
        assert_eq!(names(&processes), ["first", "fails"], "`first` still runs");
        delayed.start_due(5_000_000_000, starter, &mut processes).unwrap();
        assert_eq!(names(&processes), ["first", "fails", "last"]);
        std::fs::write(logs.join("go"), "").unwrap();
        wait_for_end(&mut processes[0]);
        delayed.start_due(6_000_000_000, starter, &mut processes).unwrap();
        assert_eq!(names(&processes)[3], "second");
        assert!(!delayed.is_empty(), "`third` waits for `second`");
        let late = delayed.not_started_in_window();
        let why = |index: usize| late[index].failure.clone().unwrap();
        assert_eq!(late[0].workload, "never");
        assert_eq!(why(0), "was not started: `fails` failed");
        assert_eq!(late[1].workload, "third");
        assert!(why(1).contains("`second` had not ended when the window ended"), "{}", why(1));
    });
}

#[test]
fn the_reason_of_a_workload_whose_time_never_came_is_given() {
    let trial = delayed();
    let late = DelayedStart::new(&trial).not_started_in_window();
    assert_eq!(late.len(), 4);
    let last = late[3].failure.clone().unwrap();
    assert!(last.contains("before its start time"), "{last}");
    assert_eq!((late[3].group.as_str(), late[3].began_ns), ("g", None));
}

#[test]
fn a_workload_that_reports_only_at_its_end_has_no_metrics_when_cut_off() {
    let mut workload = script("g.w", "exec sleep 100");
    if let assay_study::plan::ToolPlan::Invocation(call) = &mut workload.tool {
        call.reports_on_sigint = false;
        call.metrics.push(assay_study::workload::Metric {
            name: "ops".to_owned(),
            from: assay_study::workload::Source::Pattern("ops ([0-9]+)".to_owned()),
        });
    }
    let trial = trial(vec![group("g", vec![workload])]);
    with_starter(&trial, |starter, _| {
        let group = &trial.groups[0];
        let mut processes = [starter.start(group, &group.workloads[0], false).unwrap()];
        crate::runner::processes::stop_all(&mut processes, Duration::from_secs(20));
        assert!(processes[0].was_stopped);
        let result = result(&processes[0]);
        assert_eq!(result.failure, None, "it is not its fault");
        assert_eq!(result.ended_ns, None, "it did not end by itself");
        assert!(result.began_ns.is_some() && result.metrics.is_empty());
    });
}

#[test]
fn output_folders_are_those_of_the_workload_and_of_each_preparation() {
    let trial = trial(vec![prepared("g.w", &["true"])]);
    with_starter(&trial, |starter, logs| {
        let group = &trial.groups[0];
        let prepared = starter.prepare(group, &group.workloads[0], 0).unwrap();
        let started = starter.start(group, &group.workloads[0], false).unwrap();
        assert_eq!(prepared.log, "logs/repeat/g.w.prepare-1");
        assert_eq!((started.log.as_str(), started.jobs), ("logs/repeat/g.w", 0));
        let folder = Dir::open(&logs.join("g.w")).unwrap();
        assert!(folder.has_file("command.out") && folder.has_file("command.txt"));
    });
}

#[test]
fn a_placement_is_that_of_the_workload_or_none() {
    use assay_sys::kernel::placement::HugePageMode;

    let mut trial = trial(vec![group("g", vec![script("g.w", "true")])]);
    for (name, mode) in [("never", "never"), ("advised", "advised"), ("default", "default")] {
        let mut plan = crate::runner::placement::tests::plan("0-1");
        plan.workload = name.to_owned();
        plan.huge_pages = Some(mode.to_owned());
        trial.placements.push(plan);
    }
    let mode = |name: &str| placement(&trial, name).huge_pages;
    assert_eq!(mode("never"), Some(HugePageMode::Never));
    assert_eq!(mode("advised"), Some(HugePageMode::Advised));
    assert_eq!(mode("default"), Some(HugePageMode::Default));
    assert_eq!(placement(&trial, "never").cpus, Some("0-1".parse().unwrap()));
    assert!(!placement(&trial, "g.w").is_any(), "it has none");
}
