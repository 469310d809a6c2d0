//! Whole repeats on a fake host: what is started in which order, what is recorded, and what is restored.

use std::time::Duration;

use assay_record::run_folder::{RepeatRecord, read_events};
use assay_study::Ends;
use assay_study::plan::{AfterPlan, RepeatId, Trial};

use super::fake_host::{FakeHost, Recorder, TOP, group, hierarchy, knob, script, setting, trial};
use crate::runner::failure::Failure;
use crate::runner::repeat;
use crate::runner::stop_rule::NeverStop;

const SLOT: RepeatId = RepeatId { trial: 0, repeat: 0 };
const SWAPPINESS: &str = "/sys/swappiness";

struct Ended {
    result: Result<(), Failure>,
    records: Vec<RepeatRecord>,
    phases: Vec<String>,
    events: Vec<String>,
    /// Changes of the host that are still in force.
    open: usize,
}

fn run_on(host: &FakeHost, trial: &Trial) -> Ended {
    let request = host.request(vec![trial.clone()]);
    let mut observer = Recorder::default();
    let heard = observer.clone();
    let mut rule = NeverStop;
    let mut context = host.context(&request, &mut observer, &mut rule);
    let result = repeat::run(&mut context, SLOT, trial, &[]);
    let changes = context.ledger.changes();
    let open = changes.iter().filter(|change| change.restored != Some(Ok(()))).count();
    let records = context.manifest.trials[0].repeats.clone();
    request.folder.write_manifest(&context.manifest).unwrap();
    let events = read_events(&request.folder).unwrap();
    let events = events.into_iter().map(|event| event.kind).collect();
    Ended { result, records, phases: heard.lines(), events, open }
}

#[test]
fn workloads_are_started_released_together_and_recorded() {
    let host = FakeHost::with_processes();
    host.put(SWAPPINESS, "60\n");
    // Either of them ends only if the other runs too.
    let meet = |own: &str, other: &str| {
        format!("touch ../{own}; while test ! -e ../{other}; do sleep 0.01; done; echo out")
    };
    let groups = vec![
        group("a", vec![script("a.w", &meet("a", "b"))]),
        group("b", vec![script("b.w", &meet("b", "a"))]),
    ];
    let mut planned = trial(groups);
    planned.settings.push(setting("vm.swappiness", SWAPPINESS, "10"));
    let ended = run_on(&host, &planned);
    ended.result.unwrap();
    assert_eq!(ended.phases, ["make groups", "start workloads", "run", "stop workloads"]);
    let kinds = ["phase", "phase", "start", "phase", "stop", "phase", "end"];
    assert_eq!(ended.events, kinds);
    let [record] = &ended.records[..] else { panic!("{} records", ended.records.len()) };
    assert_eq!(record.fault, None);
    assert!(record.released_ns > 0 && record.released_ns <= record.all_released_ns);
    assert!(record.all_released_ns < record.stopped_ns);
    for workload in &record.workloads {
        assert_eq!(workload.failure, None);
        assert_eq!(workload.began_ns, Some(record.released_ns), "{}", workload.workload);
        assert!(workload.ended_ns.is_some());
    }
    assert_eq!(record.samples, "trial-00-repeat-00");
    let setting = &record.settings[0];
    let values = [&setting.found, &setting.at_start, &setting.at_end].map(|v| v.value().unwrap());
    assert_eq!(values, ["60", "10", "10"]);
    assert!(record.watch.is_some() && record.overrides.is_some());
    assert_eq!((ended.open, host.text(SWAPPINESS).as_str()), (0, "60"));
}

/// The window goes on without it: the other groups can still be judged.
#[test]
fn a_failed_workload_is_a_fault_of_a_repeat_that_keeps_its_data() {
    let host = FakeHost::with_processes();
    let bad = script("a.bad", "echo out of luck >&2; exit 4");
    let planned = trial(vec![group("a", vec![bad, script("a.good", "true")])]);
    let ended = run_on(&host, &planned);
    ended.result.unwrap();
    let record = &ended.records[0];
    let fault = record.fault.as_ref().unwrap();
    assert_eq!(fault.kind, "workload");
    for part in ["`a.bad`", "exit status 4", "out of luck", "logs/trial-00-repeat-00/a.bad"] {
        assert!(fault.message.contains(part), "{}", fault.message);
    }
    assert_eq!(record.workloads[1].failure, None);
    assert!(record.stopped_ns > record.all_released_ns);
}

#[test]
fn after_a_failed_preparation_no_workload_starts_and_the_settings_are_put_back() {
    let host = FakeHost::with_processes();
    host.put(SWAPPINESS, "60\n");
    let mut workload = script("a.w", "true");
    workload.prepare.push(script("fill", "exit 9"));
    let mut planned = trial(vec![group("a", vec![workload])]);
    planned.settings.push(setting("vm.swappiness", SWAPPINESS, "10"));
    let ended = run_on(&host, &planned);
    ended.result.unwrap();
    assert_eq!(ended.phases, ["make groups", "prepare data"]);
    let record = &ended.records[0];
    assert!(record.workloads.is_empty() && record.stopped_ns == 0);
    assert!(record.start_skew_s.reason().unwrap().contains("before the start"));
    assert!(record.fault.as_ref().unwrap().message.contains("`fill` failed: exit status 9"));
    assert_eq!(record.settings[0].at_end.value().unwrap(), "10", "both readings are recorded");
    assert_eq!((ended.open, host.text(SWAPPINESS).as_str()), (0, "60"));
}

/// Each step that can fail, with its words; afterwards nothing that was changed before it stays.
#[test]
fn a_step_that_fails_ends_the_repeat_without_a_record_and_everything_is_put_back() {
    let on_v1 = |knobs: bool| {
        let mut g = group("a", vec![script("a.w", "true")]);
        if knobs {
            g.knobs.push(knob("cpu", "cpu.shares", "2"));
        }
        Trial { hierarchies: vec![hierarchy(false, &["cpu"])], ..trial(vec![g]) }
    };
    let missing = Trial { settings: vec![setting("x", "/sys/missing", "1")], ..trial(vec![]) };
    let mut stranger = script("a.w", "true");
    stranger.user = Some("no-such-user".to_owned());
    let stranger = trial(vec![group("a", vec![stranger])]);
    let cases = [
        ("a setting", missing, "/sys/missing"),
        ("a knob", on_v1(true), "/cg/cpu/assay-test/a/cpu.shares"),
        ("entering a group", on_v1(false), "/cg/cpu/assay-test/a/cgroup.procs"),
        ("a user", stranger, "/etc/passwd"),
    ];
    for (step, mut planned, path) in cases {
        let host = FakeHost::with_processes();
        host.put(SWAPPINESS, "60\n");
        planned.settings.insert(0, setting("vm.swappiness", SWAPPINESS, "10"));
        let ended = run_on(&host, &planned);
        let error = ended.result.unwrap_err().to_string();
        assert!(error.contains(path), "{step}: {error}");
        assert!(ended.records.is_empty(), "{step}");
        assert_eq!((ended.open, host.text(SWAPPINESS).as_str()), (0, "60"), "{step}");
        assert!(!host.root().exists(TOP), "{step}");
    }
}

#[test]
fn the_last_workload_of_a_chain_ends_the_repeat() {
    let host = FakeHost::with_processes();
    let mut second = script("a.second", "test -e ../first");
    second.after = Some(AfterPlan::Workload("a.first".to_owned()));
    let mut late = script("a.late", "true");
    late.after = Some(AfterPlan::Time(Duration::from_secs(3000)));
    let workloads = vec![script("a.first", "touch ../first"), second, late];
    let planned = Trial { ends: Ends::First, ..trial(vec![group("a", workloads)]) };
    let ended = run_on(&host, &planned);
    ended.result.unwrap();
    let record = &ended.records[0];
    let failures: Vec<_> = record.workloads.iter().map(|w| w.failure.as_deref()).collect();
    assert_eq!(failures[..2], [None, None], "the second found what the first had left");
    assert!(failures[2].unwrap().contains("the window ended before its start time"));
    assert!(record.workloads[1].began_ns >= record.workloads[0].ended_ns);
}

/// The host has neither type information nor a controller `cpu`: the repeat goes on and says what it lacks.
#[test]
fn evidence_that_the_host_refuses_is_a_reason_and_leaves_no_file() {
    let host = FakeHost::with_processes();
    let mut planned = trial(vec![group("a", vec![script("a.w", "true")])]);
    planned.sampling.evidence = true;
    let ended = run_on(&host, &planned);
    ended.result.unwrap();
    let record = &ended.records[0];
    assert!(record.fault.is_none() && record.evidence.is_none() && record.stopped_ns > 0);
    for part in ["evidence.cpu", "evidence.disks"] {
        assert!(!record.not_available[part].is_empty(), "{part}");
    }
    planned.sampling.evidence = false;
    let host = FakeHost::with_processes();
    let ended = run_on(&host, &planned);
    assert!(ended.records[0].not_available.keys().all(|key| !key.starts_with("evidence")));
}
