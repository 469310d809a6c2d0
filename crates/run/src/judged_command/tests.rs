//! Readings of made-up machines.

use std::path::PathBuf;

use assay_host::facts::Available;
use assay_sys::kernel::Root;
use assay_test_support::put;
use tempfile::TempDir;

use super::*;

fn tree(files: &[(&str, &str)]) -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(path, text)| put(folder.path(), path, text));
    let root = Root::at(folder.path());
    (folder, root)
}

const BEFORE: &str =
    "cpu  100 0 0 800 0 0 0 0 0 0\ncpu0 50 0 0 400 0 0 0 0 0 0\ncpu1 50 0 0 400 0 0 0 0 0 0\n";

#[test]
fn steal_and_idle_time_are_nobodys_use() {
    let after = "cpu  0\ncpu0 150 0 0 400 0 0 0 0 0 0\ncpu1 50 0 0 440 30 0 0 30 0 0\n";
    let (_before, before) = tree(&[("proc/stat", BEFORE)]);
    let (_after, after) = tree(&[("proc/stat", after)]);
    let cpus: CpuSet = "0-1".parse().unwrap();
    let [before, after] = [before, after].map(|root| cpu_times::read(&root, &cpus));
    let spent = after.value().unwrap().since(before.value().unwrap());
    assert_eq!(spent.steal(), 0.15);
    assert_eq!(spent.steal_on_one().unwrap().cpu, 1);
    let more: CpuSet = "0-2".parse().unwrap();
    let (_folder, root) = tree(&[("proc/stat", BEFORE)]);
    assert!(cpu_times::read(&root, &more).value().is_none(), "CPU 2 is not listed");
}

#[test]
fn the_busiest_group_is_named_as_deep_as_it_explains_the_time() {
    let mount = PathBuf::from("/cg");
    let reading = |times: &[(&str, u64)]| -> BTreeMap<PathBuf, u64> {
        let all = times.iter().map(|(name, time)| (mount.join(name), *time));
        all.chain([(mount.clone(), 0)]).collect()
    };
    let before = reading(&[("a", 0), ("a/b", 0), ("a/c", 0), ("own", 0), ("z", 0)]);
    let after = reading(&[
        ("a", 900_000),
        ("a/b", 800_000),
        ("a/c", 100_000),
        ("own", 5_000_000),
        ("z", 1),
    ]);
    let own = [mount.join("own")];
    let found = machine::busiest(&before, &after, &own, 2.0).unwrap();
    assert_eq!(found.0, "/a/b");
    assert!((found.1 - 0.4).abs() < 1e-9, "{found:?}");
    assert!(machine::busiest(&before, &before, &own, 2.0).is_none(), "nobody used any");
}

#[test]
fn a_quota_above_the_command_is_seen_on_v1_and_v2() {
    let (_folder, root) = tree(&[
        ("cg/cpu.stat", "usage_usec 9\n"),
        ("cg/job/cpu.stat", "nr_throttled 3\nthrottled_usec 2500000\n"),
        ("cg/job/inner/cpu.stat", "throttled_time 1500000000\n"),
        ("cg/job/inner/own/cpu.stat", "throttled_usec 7\n"),
    ]);
    let directory = PathBuf::from("/cg/job/inner/own");
    let found = machine::throttled_above(&root, Some(&directory));
    let found = found.value().unwrap();
    assert_eq!(found["/cg/job"], 2.5);
    assert_eq!(found["/cg/job/inner"], 1.5);
    assert!(!found.contains_key("/cg/job/inner/own"), "its own quota is not from outside");
    let none = machine::throttled_since(found, found);
    assert!(none.is_empty(), "nothing happened in between");
    assert!(machine::throttled_above(&root, None).value().is_none());
}

#[test]
fn a_machine_without_a_counter_says_so() {
    let (_folder, root) = tree(&[("proc/vmstat", "nr_free_pages 3\n")]);
    let cpus: CpuSet = "0".parse().unwrap();
    assert!(machine::swapped_pages(&root).reason().unwrap().contains("without swap"));
    assert!(machine::too_hot(&root, &cpus).reason().unwrap().contains("thermal_throttle"));
    let count = "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";
    let (_folder, root) = tree(&[("proc/vmstat", "pswpin 3\npswpout 4\n"), (count, "5\n")]);
    assert_eq!(machine::swapped_pages(&root), Available::Value(7));
    assert_eq!(machine::too_hot(&root, &cpus), Available::Value(5));
}

#[test]
fn the_cpus_are_those_of_the_last_cpuset_that_was_asked_for() {
    let facts = gather(&Root::real()).unwrap();
    let plain = LimitedCommand::default();
    assert_eq!(cpus_of(&plain, &facts), facts.cpus.allowed);
    let place = crate::exec::parse_placement("cpus=0").unwrap();
    let placed = LimitedCommand { place: vec![place], ..LimitedCommand::default() };
    assert_eq!(cpus_of(&placed, &facts), "0".parse().unwrap());
}

#[test]
fn the_same_cpu_is_as_fast_twice() {
    let cpus: CpuSet = "0".parse().unwrap();
    let time = speed(&cpus);
    assert!(*time.value().unwrap() > 0.0, "{time:?}");
    assert!(speed(&CpuSet::default()).value().is_none());
}

#[test]
fn waiting_for_its_own_quota_is_no_evidence_of_others() {
    let pressure = Available::Value(Stall { some_s: 1.5, full_s: 0.5 });
    let throttling =
        |throttled| Available::Value(Throttling { periods: 30, throttled, time_s: 1.5 });
    assert_eq!(waited(&pressure, &throttling(0)), Available::Value(1.5));
    assert!(waited(&pressure, &throttling(3)).reason().unwrap().contains("cpu.max"));
    let none = Available::NotAvailable("not counted".to_owned());
    assert_eq!(waited(&pressure, &none), Available::Value(1.5));
}
