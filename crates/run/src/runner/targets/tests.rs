//! Which files are sampled, by layout of the control groups and state of the disks.

use std::path::PathBuf;

use super::*;
use crate::runner::tests::fake_host::{FakeHost, disk, group, hierarchy, knob, trial};

/// Files of a host with their text.
type Files<'f> = &'f [(&'f str, &'f str)];

const IO: &str = "/cg/blkio/assay-test";

/// Two groups of which `a` uses the disk, in these hierarchies.
fn planned(hierarchies: &[(bool, &[&str])]) -> (Trial, Vec<ScratchDisk>) {
    let mut groups = vec![group("a", vec![]), group("a/inner", vec![])];
    groups[0].disk = Some(0);
    groups[0].is_inner = true;
    let mut trial = trial(groups);
    trial.hierarchies = hierarchies.iter().map(|(is_v2, all)| hierarchy(*is_v2, all)).collect();
    let (plan, ready) = disk();
    trial.disks.push(plan);
    (trial, vec![ready])
}

/// The targets on a host prepared by `files`, after the groups were made.
fn of((trial, disks): &(Trial, Vec<ScratchDisk>), files: Files<'_>) -> Targets {
    let host = FakeHost::new();
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, trial);
    for (path, text) in files {
        host.put(path, text);
    }
    let layout = assay_test_support::hosts::host(false).cgroup;
    targets(&host.root(), &tree, trial, disks, &layout)
}

#[test]
fn on_cgroup_2_one_directory_has_all_counters() {
    let both = planned(&[(true, &["cpu", "io", "memory"])]);
    let targets = of(&both, &[]);
    let group = &targets.groups[0];
    let own = PathBuf::from("/cg/v2/assay-test/a");
    assert_eq!(group.io, Ok((IoFiles::IoStat(own.join("io.stat")), "7:7".to_owned())));
    assert_eq!(group.cpu, Ok(CpuFile::CpuStat(own.join("cpu.stat"))));
    assert_eq!(group.memory, Ok(MemoryFiles { directory: own.clone(), is_v2: true }));
    assert_eq!(group.pressure, Some(own));
    assert_eq!(targets.disks, [DiskTarget { device: "loop7".to_owned() }]);
    let names: Vec<_> = targets.processes.unwrap().into_iter().map(|target| target.name).collect();
    assert_eq!(names, ["a/inner"], "no process is in a group with groups inside it");
}

/// Documentation/admin-guide/cgroup-v1/blkio-controller.rst: each policy has files of its own.
#[test]
fn on_cgroup_1_the_files_are_those_of_the_policy_that_counts() {
    let both = planned(&[(false, &["io"])]);
    let throttle = format!("{IO}/blkio.throttle.read_bps_device");
    let inside = format!("{IO}/a/blkio.throttle.read_bps_device");
    let served = format!("{IO}/a/blkio.throttle.io_service_bytes");
    let scheduler = "/sys/block/loop7/queue/scheduler";
    let cases: [(&str, Files<'_>, Option<&str>); 6] = [
        ("no policy", &[(scheduler, "[none] bfq")], None),
        ("bfq", &[(scheduler, "none [bfq]")], Some("blkio.bfq")),
        (
            "a limit above comes first",
            &[(scheduler, "[bfq]"), (&inside, ""), (&throttle, "7:7 1152921504606846976\n")],
            Some("blkio.throttle"),
        ),
        ("a limit of another disk", &[(&inside, "7:70 5\n"), (&throttle, "8:0 5\n")], None),
        ("counts already", &[(&served, "7:7 Read 4096\n")], Some("blkio.throttle")),
        ("counts another disk", &[(&served, "8:0 Read 4096\n")], None),
    ];
    for (case, files, policy) in cases {
        let targets = of(&both, files);
        match (policy, &targets.groups[0].io) {
            (Some(policy), Ok((IoFiles::Blkio { bytes, requests }, device))) => {
                let file = |name: &str| PathBuf::from(format!("{IO}/a/{policy}.{name}_recursive"));
                assert_eq!((bytes, requests), (&file("io_service_bytes"), &file("io_serviced")));
                assert_eq!(device, "7:7", "{case}");
            }
            (None, Err(why)) => assert!(why.contains("loop7") && why.contains("bfq"), "{why}"),
            (_, found) => panic!("{case}: {found:?}"),
        }
    }
}

#[test]
fn what_is_not_counted_has_a_reason() {
    let (mut trial, mut disks) = planned(&[(false, &["cpu"])]);
    trial.absent.insert("memory".to_owned(), "disabled at boot".to_owned());
    let targets = of(&(trial.clone(), disks.clone()), &[]);
    let why = |result: Result<_, String>| result.err().unwrap();
    let group = targets.groups[0].clone();
    assert!(why(group.memory.map(|_| ())).contains("`memory`: disabled at boot"));
    assert!(why(group.io.map(|_| ())).contains("`io`: not mounted"));
    assert_eq!(group.pressure, None, "cgroup v1 has none");
    trial.absent.clear();
    // Of two disks a group without one of its own has no single device.
    disks.push(ScratchDisk { device: "loop8".to_owned(), ..disks[0].clone() });
    let targets = of(&(trial, disks), &[]);
    assert!(why(targets.groups[1].io.clone().map(|_| ())).contains("no disk"));
    assert!(why(targets.groups[0].memory.clone().map(|_| ())).contains("neither limits memory"));
    assert_eq!(targets.disks.len(), 2);
}

#[test]
fn cpu_time_is_read_from_cpuacct_where_there_is_one() {
    let with = planned(&[(false, &["cpu"]), (false, &["cpuacct"])]);
    let usage = PathBuf::from("/cg/cpuacct/assay-test/a/cpuacct.usage");
    assert_eq!(of(&with, &[]).groups[0].cpu, Ok(CpuFile::Cpuacct(usage)));
    let without = planned(&[(false, &["io"])]);
    assert!(of(&without, &[]).groups[0].cpu.clone().unwrap_err().contains("`cpu`"));
}

#[test]
fn groups_with_a_quota_are_watched_for_throttling_also_around_the_run() {
    let (mut trial, disks) = planned(&[(false, &["cpu"])]);
    trial.groups[1].knobs.push(knob("cpu", "cpu.max", "max"));
    trial.hierarchies[0].base = "/cg/cpu/user".into();
    let top = "/cg/cpu/user/assay-test";
    let host = FakeHost::new();
    host.put("/cg/cpu/user/cpu.cfs_quota_us", "50000\n");
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, &trial);
    host.put(format!("{top}/cpu.cfs_quota_us"), "-1\n");
    host.put(format!("{top}/a/cpu.cfs_quota_us"), "-1\n");
    let layout = assay_test_support::hosts::host(false).cgroup;
    let names = |trial: &Trial| -> Vec<(String, PathBuf)> {
        let targets = targets(&host.root(), &tree, trial, &disks, &layout);
        targets.throttles.unwrap().into_iter().map(|t| (t.name, t.path)).collect()
    };
    let inner = ("a/inner".to_owned(), PathBuf::from(format!("{top}/a/inner/cpu.stat")));
    let above = ("above:/cg/cpu/user".to_owned(), PathBuf::from("/cg/cpu/user/cpu.stat"));
    assert_eq!(names(&trial), [inner, above.clone()], "the study asks for it, or there is one");
    trial.groups[1].knobs.clear();
    assert_eq!(names(&trial), [above]);
    host.put(format!("{top}/a/cpu.cfs_quota_us"), "1000\n");
    assert_eq!(names(&trial)[0].0, "a");
}

/// A limit on a disk of the user would stay until the disk is removed (6.10).
#[test]
fn only_a_disk_of_this_run_is_made_to_count() {
    let block = DiskSource::Block { device: "/dev/sdb".to_owned(), erase: None };
    for (source, counts) in [(DiskSource::Loop, true), (block, false)] {
        let (mut trial, disks) = planned(&[(false, &["io"])]);
        trial.disks[0].source = source;
        let host = FakeHost::new();
        let mut ledger = host.ledger();
        let tree = host.tree(&mut ledger, &trial);
        count_io(&tree, &trial, &disks);
        let limit = format!("{IO}/blkio.throttle.read_bps_device");
        assert!(!host.root().exists(&limit), "a kernel without throttling has no such file");
        host.put(&limit, "");
        count_io(&tree, &trial, &disks);
        let expected = if counts { "7:7 1152921504606846976" } else { "" };
        assert_eq!(host.text(&limit), expected);
    }
}
