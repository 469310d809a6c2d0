//! Influences besides the knobs, on a fake host.

use super::*;
use crate::runner::tests::fake_host::{FakeHost, TOP, disk, group, hierarchy, trial};

/// Ids above the largest that the kernel gives (4194304, proc(5)): nothing here can reach a real process.
const THREADS: [u32; 3] = [4_999_001, 4_999_002, 4_999_003];

#[test]
fn only_limits_of_the_trials_disks_are_kept() {
    let devices = ["7:0".to_owned()];
    let kept = |text: &str| limiting_lines(text, &devices);
    assert_eq!(
        kept("7:0 rbps=max wbps=max riops=200 wiops=max\n8:0 rbps=1"),
        kept("7:0 rbps=max wbps=max riops=200 wiops=max")
    );
    assert_eq!(kept("7:0 1048576\n8:16 5"), "7:0 1048576");
    assert_eq!(kept("7:0 target=75000"), "7:0 target=75000");
    assert_eq!(kept("7:0 rbps=max wbps=max riops=max wiops=max"), "");
    let counting = kept("7:0 1152921504606846976");
    assert_eq!(counting, "", "the value that enables counting is not a limit");
    assert_eq!(kept("7:01 5"), "");
}

/// A trial with the group `g` and one disk, in hierarchies of v1 for `cpu` and `io`.
fn planned() -> (Trial, Vec<ScratchDisk>) {
    let mut trial = trial(vec![group("g", vec![])]);
    trial.hierarchies = vec![hierarchy(false, &["cpu"]), hierarchy(false, &["io"])];
    trial.hierarchies[0].base = "/cg/cpu/outer".into();
    let (plan, ready) = disk();
    trial.disks.push(plan);
    (trial, vec![ready])
}

#[test]
fn limits_of_the_groups_and_of_those_around_them_are_read_at_start_and_end() {
    let host = FakeHost::new();
    host.put("/cg/cpu/cpu.cfs_quota_us", "7\n");
    host.put("/cg/cpu/outer/cpu.cfs_quota_us", "90000\n");
    host.put("/sys/block/loop7/slaves/sda", "");
    let (trial, disks) = planned();
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, &trial);
    let group = "/cg/cpu/outer/assay-test/g";
    let throttle = "/cg/blkio/assay-test/g/blkio.throttle.write_iops_device";
    host.put(format!("{group}/cpu.cfs_quota_us"), "-1\n");
    host.put(format!("{group}/cpu.idle"), "1\n");
    host.put(throttle, "7:7 100\n8:0 1\n");
    let layout = assay_test_support::hosts::host(false).cgroup;
    let root = host.root();
    let mut overrides = Overrides::at_start(&root, &tree, &trial, &layout, &disks);
    host.put(format!("{group}/cpu.cfs_quota_us"), "5000\n");
    host.put(throttle, "7:7 max\n");
    host.put("/sys/kernel/sched_ext/state", "enabled\n");
    host.put("/sys/kernel/sched_ext/root/ops", "rusty\n");
    let record = overrides.finish();
    let limits = record.limits.iter().map(|l| [&l.group, &l.file, &l.at_start, &l.at_end]);
    let limits: Vec<[&str; 4]> = limits.map(|line| line.map(String::as_str)).collect();
    let expected = [
        ["above:/cg/cpu/outer", "cpu.cfs_quota_us", "90000", "90000"],
        ["g", "blkio.throttle.write_iops_device", "7:7 100", ""],
        ["g", "cpu.cfs_quota_us", "", "5000"],
        ["g", "cpu.idle", "1", "1"],
    ];
    assert_eq!(limits, expected, "the root of a hierarchy has no limits");
    assert_eq!(record.sched_ext, Available::Value("enabled rusty".to_owned()));
    assert_eq!(record.stacked["scratch"], ["sda"]);
}

#[test]
fn threads_are_counted_by_policy_and_nice_value_the_most_at_once() {
    let host = FakeHost::new();
    let mut inner = group("outer", vec![]);
    inner.is_inner = true;
    let trial = Trial {
        hierarchies: vec![hierarchy(false, &["cpu"])],
        ..trial(vec![inner, group("outer/g", vec![])])
    };
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, &trial);
    // Fields 19 and 41 of proc_pid_stat(5) are the nice value and the policy.
    let stat = |nice: i32, policy: u32| {
        let (before, between) = ("0 ".repeat(15), "0 ".repeat(21));
        format!("1 (a b) S {before}{nice} {between}{policy} 0 0\n")
    };
    for (id, nice, policy) in [(THREADS[0], 0, 0), (THREADS[1], 0, 0), (THREADS[2], -5, 2)] {
        host.put(format!("/proc/{id}/stat"), &stat(nice, policy));
    }
    let list = |ids: &[u32]| ids.iter().map(|id| format!("{id}\n")).collect::<String>();
    let layout = assay_test_support::hosts::host(false).cgroup;
    let root = host.root();
    let mut overrides = Overrides::at_start(&root, &tree, &trial, &layout, &[]);
    host.put(format!("{TOP}/outer/tasks"), &list(&THREADS));
    for ids in [&THREADS[..2], &THREADS[2..], &THREADS[..1]] {
        host.put(format!("{TOP}/outer/g/tasks"), &list(ids));
        overrides.due_ns = 0;
        overrides.look_if_due();
        assert!(overrides.due_ns > 0, "the next one is due later");
        overrides.due_ns = u64::MAX;
        overrides.look_if_due();
    }
    let record = overrides.finish();
    let seen =
        record.threads.iter().map(|t| (t.group.as_str(), t.policy.as_str(), t.nice, t.threads));
    let seen: Vec<_> = seen.collect();
    assert_eq!(seen, [("outer/g", "other", 0, 2), ("outer/g", "rr", -5, 1)]);
    assert!(record.threads.iter().all(|thread| thread.io_class == "unknown"), "they do not exist");
    assert!(record.sched_ext.reason().is_some() && record.stacked.is_empty());
    assert_eq!(overrides.wait_ns, FIRST_LOOK_NS * 8, "each wait is twice the one before");
}

/// Its processes are in some group all the same, and limits of that apply to them.
#[test]
fn without_groups_of_its_own_those_around_the_program_count() {
    let host = FakeHost::new();
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, &trial(vec![]));
    let mut layout = assay_test_support::hosts::host(false).cgroup;
    layout.controllers.get_mut("cpu").unwrap().own_group = "/user/shell".to_owned();
    let paths = around(&tree, &trial(vec![]), &layout, "cpu");
    assert_eq!(paths, [Path::new("/cg/cpu/user/shell"), Path::new("/cg/cpu/user")]);
    layout.controllers.get_mut("cpu").unwrap().hierarchy = Hierarchy::Absent("no".to_owned());
    assert!(around(&tree, &trial(vec![]), &layout, "cpu").is_empty());
    assert!(around(&tree, &trial(vec![]), &layout, "unknown").is_empty());
}
