//! What the manifest says about a plan, before and after its repeats.

use std::path::Path;
use std::time::Duration;

use assay_host::facts::Available;
use assay_study::plan::{AfterPlan, RepeatId};
use assay_study::{DiskSource, NullBlk};

use super::fake_host::{FakeHost, disk, group, knob, script, trial};
use crate::runner::recording::{changes, manifest, name_devices, trial as trial_record};
use crate::runner::schedule::{AsPlanned, Schedule};

#[test]
fn a_trial_is_recorded_with_its_groups_workloads_and_disks() {
    let mut later = script("g.later", "true");
    later.after = Some(AfterPlan::Workload("g.first".to_owned()));
    let mut timed = script("g.timed", "true");
    timed.after = Some(AfterPlan::Time(Duration::from_secs(90)));
    let mut g = group("g", vec![script("g.first", "exit 0"), later, timed]);
    g.knobs.push(knob("cpu", "cpu.shares", "512"));
    g.disk = Some(0);
    let mut planned = trial(vec![g]);
    let (mut first, ready) = disk();
    first.queue.push(("nr_requests".to_owned(), "64".to_owned()));
    planned.disks.push(first);
    let mut record = trial_record(&planned);
    let group = &record.groups[0];
    assert_eq!(group.disk.as_deref(), Some("scratch"));
    assert_eq!(group.knobs[0].written, "512");
    let starts: Vec<_> = group.workloads.iter().map(|w| w.starts.as_deref()).collect();
    assert_eq!(starts[..2], [None, Some("when `g.first` has ended")]);
    assert!(starts[2].unwrap().ends_with(" after the others"), "{starts:?}");
    assert!(group.workloads[0].command_line.contains("exit 0"));
    assert_eq!(group.workloads[0].tool, "command");
    assert_eq!((record.at_most_s, record.planned_repeats), (3600.0, None));
    assert_eq!(record.disks[0].device, None, "it is not known before it was made");
    assert_eq!(record.disks[0].queue["nr_requests"], "64");
    name_devices(&mut record, &[ready]);
    assert_eq!(record.disks[0].device.as_deref(), Some("loop7"));
}

#[test]
fn every_kind_of_disk_has_a_name_in_the_record() {
    let path = || "/srv".to_owned();
    for (source, name) in [
        (DiskSource::Loop, "loop"),
        (DiskSource::Block { device: path(), erase: None }, "block"),
        (DiskSource::Directory { path: path() }, "directory"),
        (DiskSource::NullBlk(NullBlk::default()), "null_blk"),
    ] {
        let mut planned = trial(vec![]);
        planned.disks.push(assay_study::plan::DiskPlan { source, ..disk().0 });
        assert_eq!(trial_record(&planned).disks[0].source, name);
    }
}

#[test]
fn repeats_run_in_the_order_of_the_plan_and_are_counted_by_trial() {
    let host = FakeHost::new();
    let mut request = host.request(vec![trial(vec![]), trial(vec![group("g", vec![])])]);
    let order = [(1, 0), (0, 0), (1, 1)].map(|(trial, repeat)| RepeatId { trial, repeat });
    request.plan.slots = order.to_vec();
    let manifest = manifest(&request);
    let planned: Vec<_> = manifest.trials.iter().map(|trial| trial.planned_repeats).collect();
    assert_eq!(planned, [Some(1), Some(2)]);
    assert_eq!((manifest.restored, manifest.seed), (None, 7), "nothing is known of its end yet");
    let mut schedule = AsPlanned::new(&request.plan);
    for slot in order {
        let next = schedule.next(&manifest).unwrap();
        assert_eq!(next.slot, slot);
        assert_eq!(next.trial.groups.len(), slot.trial, "the trial of its number");
    }
    assert!(schedule.next(&manifest).is_none());
}

#[test]
fn a_change_is_in_force_restored_or_lost_for_a_reason() {
    let host = FakeHost::new();
    let mut ledger = host.ledger();
    for name in ["kept", "gone"] {
        let path = format!("/sys/{name}");
        host.put(&path, "1\n");
        ledger.write_file(&host.root(), Path::new(&path), "2").unwrap();
    }
    let state = |ledger: &_| -> Vec<_> {
        changes(ledger).into_iter().map(|change| change.restored).collect()
    };
    assert_eq!(state(&ledger), [Available::Value(false), Available::Value(false)]);
    assert_eq!(changes(&ledger)[0].before.as_deref(), Some("1"));
    assert_eq!(changes(&ledger)[0].set.as_deref(), Some("2"));
    // A directory in its place cannot be written.
    let gone = host.root().resolve("/sys/gone");
    std::fs::remove_file(&gone).unwrap();
    std::fs::create_dir(&gone).unwrap();
    assert_eq!(ledger.restore(&host.root()).len(), 1);
    let state = state(&ledger);
    assert_eq!(state[0], Available::Value(true));
    assert!(state[1].reason().is_some_and(|why| why.contains("/sys/gone")), "{state:?}");
}
