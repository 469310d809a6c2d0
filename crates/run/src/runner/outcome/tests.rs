//! Faults of a repeat, and the counters of memory limits.

use super::*;
use crate::runner::tests::fake_host::{FakeHost, group, hierarchy, trial};

fn failed(workload: &str, why: Option<&str>, log: &str) -> WorkloadResult {
    WorkloadResult {
        workload: workload.to_owned(),
        failure: why.map(str::to_owned),
        log: log.to_owned(),
        ..WorkloadResult::default()
    }
}

/// The kind and the message of a repeat's fault, given the OOM kills in `g`.
fn fault(
    kills: Option<u64>,
    prepared: &[WorkloadResult],
    ran: &[WorkloadResult],
) -> Option<(String, String)> {
    let mut record = RepeatRecord::without_a_window("s", "");
    let counted = kills.map(|kills| BTreeMap::from([("oom_kill".to_owned(), kills)]));
    record.memory_events = counted.map(|counted| ("g".to_owned(), counted)).into_iter().collect();
    record.preparations = prepared.to_vec();
    record.workloads = ran.to_vec();
    note_failures(&mut record);
    record.fault.map(|fault| (fault.kind, fault.message))
}

#[test]
fn the_most_serious_fault_of_a_repeat_is_named_with_its_cause() {
    let good = failed("good", None, "logs/good");
    let bad = failed("bad", Some("exit status 1"), "logs/bad");
    let unstarted = failed("late", Some("was not started"), "");
    let received = |kind: &str, message: &str| Some((kind.to_owned(), message.to_owned()));
    assert_eq!(fault(None, &[], std::slice::from_ref(&good)), None);
    assert_eq!(
        fault(Some(0), &[], std::slice::from_ref(&good)),
        None,
        "a counter alone is no kill"
    );
    let message = "workload `bad` failed: exit status 1; its output is in logs/bad";
    assert_eq!(fault(Some(0), &[], &[good.clone(), bad.clone()]), received("workload", message));
    let message = "workload `late` failed: was not started";
    assert_eq!(
        fault(None, &[unstarted], std::slice::from_ref(&bad)),
        received("workload", message),
        "in their order"
    );
    let one = "the kernel killed 1 process of `g` for want of memory";
    assert_eq!(fault(Some(1), &[], &[good]), received("oom", one));
    let both = "the kernel killed 2 processes of `g` for want of memory; workload `bad` failed: \
                exit status 1; its output is in logs/bad";
    assert_eq!(fault(Some(2), &[], &[bad]), received("oom", both));
}

/// RocksDB ends with an assertion where fio says what it met.
#[test]
fn a_full_disk_is_one_fault_of_all_that_failed_on_it() {
    let asserted = failed("store", Some("killed by signal 6"), "logs/store");
    let said = failed("reader", Some("write: No space left on device"), "logs/reader");
    let (kind, message) = fault(None, &[], &[asserted, said]).unwrap();
    assert_eq!(kind, FULL_DISK);
    assert!(message.starts_with("the disk of the study is full (2 of its"), "{message}");
    assert!(message.contains("write less; workload `reader` failed"), "{message}");
}

#[test]
fn an_interruption_is_not_replaced_by_what_follows_from_it() {
    let mut record = RepeatRecord::without_a_window("s", "");
    record.workloads = vec![failed("bad", Some("killed by signal 2"), "")];
    let interrupted = Fault { kind: "interrupted".to_owned(), message: "by SIGINT".to_owned() };
    record.fault = Some(interrupted.clone());
    note_failures(&mut record);
    assert_eq!(record.fault, Some(interrupted));
}

#[test]
fn counters_of_memory_are_read_by_the_names_of_both_versions() {
    let host = FakeHost::new();
    let groups = ["v2", "v1", "none"].map(|name| group(name, vec![])).to_vec();
    let trial = Trial { hierarchies: vec![hierarchy(true, &["memory"])], ..trial(groups) };
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, &trial);
    let put = |file: &str, text: &str| host.put(format!("/cg/v2/assay-test/{file}"), text);
    put("v2/memory.events", "low 0\nmax 12\noom_kill 1\nodd\nbad x\n");
    put("v1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    put("v1/memory.failcnt", "44\n");
    let events = memory_events(&tree, &trial);
    let of = |group: &str| -> Vec<(&str, u64)> {
        events[group].iter().map(|(name, value)| (name.as_str(), *value)).collect()
    };
    assert_eq!(of("v2"), [("low", 0), ("max", 12), ("oom_kill", 1)]);
    let v1 = [("failcnt", 44), ("oom_kill", 3), ("oom_kill_disable", 0), ("under_oom", 0)];
    assert_eq!(of("v1"), v1);
    assert!(!events.contains_key("none"), "a group without counters has no entry");
    let without = Trial { hierarchies: vec![], ..trial };
    let tree = Tree::create(&host.root(), &mut ledger, &[], "assay-none").unwrap();
    assert!(memory_events(&tree, &without).is_empty());
}
