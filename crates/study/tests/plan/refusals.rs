//! What a host cannot do is refused, each with its remedy.

use crate::*;

#[test]
fn each_refusal_is_reported_once_with_its_remedy() {
    let mut study = study("io-weight");
    set_factor(&mut study, "groups", vec![Scalar::Integer(4), Scalar::Integer(6)]).unwrap();
    let mut host = host(false);
    host.schedulers = vec!["none".to_owned()];
    host.tools.insert("fio".to_owned(), tool(false, "fio"));
    let plan = plan(&study, &host, 1);
    let refusals: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.what.as_str()).collect();
    for word in ["`fio` is needed", "scheduler `bfq`"] {
        let count = refusals.iter().filter(|text| text.contains(word)).count();
        assert_eq!(count, 1, "{word}: {refusals:?}");
    }
    assert!(plan.refusals.iter().any(|refusal| refusal.remedy == "apt-get install fio"));
    // The groups have a disk; that it is refused is said already.
    assert!(!refusals.iter().any(|text| text.contains("`io.weight")), "{refusals:?}");
}

/// As on Linux 5.10, where other disks of the guest offer it.
#[test]
fn a_loop_disk_that_takes_no_scheduler_is_refused_before_anything_is_touched() {
    let offers = |offered: &[&str]| {
        let offered: Vec<String> = offered.iter().map(|name| (*name).to_owned()).collect();
        let mut host = host(false);
        let scheduler = Some(Scheduler { active: "none".to_owned(), offered });
        host.disks.push(Disk { scheduler, ..unused_disk("loop0", Bytes::mebi(4096)) });
        let plan = plan(&study("io-weight"), &host, 1);
        let of_loops =
            plan.refusals.into_iter().find(|refusal| refusal.what.contains("loop disks"));
        of_loops.map(|refusal| refusal.remedy)
    };
    let remedy = offers(&["none"]).unwrap();
    assert!(remedy.contains("--disk null_blk:iops=800,depth=8"), "{remedy}");
    assert_eq!(offers(&["none", "mq-deadline", "bfq"]), None);
}

/// A user to whom groups of these controllers only were delegated.
fn user(is_v2: bool, delegated: &[&str]) -> HostFacts {
    let mut host = host(is_v2);
    host.root = Available::NotAvailable("this is user 1000".to_owned());
    for name in host.cgroup.controllers.keys() {
        let base = match delegated.contains(&name.as_str()) {
            true => Available::Value(PathBuf::from("/cg/users/1000")),
            false => Available::NotAvailable("needs root, because it was not delegated".to_owned()),
        };
        host.cgroup.bases.insert(name.clone(), base);
    }
    host
}

#[test]
fn each_part_that_needs_root_is_refused() {
    let plan = plan(&study("io-weight"), &user(false, &["io", "cpuacct"]), 1);
    let refusals: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.what.as_str()).collect();
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    assert!(
        refusals[0].contains("a loop device needs root, because the kernel attaches"),
        "{refusals:?}"
    );
    assert!(
        refusals[1].contains("a scheduler or queue setting needs root, because"),
        "{refusals:?}"
    );
    assert!(refusals.iter().all(|text| text.ends_with("this is user 1000")), "{refusals:?}");
}

const IN_A_DIRECTORY: &str = r#"
title = "Less than root"
[disks.data]
use = "directory"
path = "/srv"
size = "8 MiB"
[[groups]]
name = "task"
count = 2
knobs = { "memory.max" = "64M" }
run = "reader"
[workloads.reader]
use = "fio"
args = { rw = "randread", bs = "4k" }
[[promises]]
measure = "io.bytes"
is = "equal"
within = "10 %"
"#;

#[test]
fn a_study_in_a_directory_with_delegated_controllers_needs_no_root() {
    let study = parse("user", IN_A_DIRECTORY, &shipped_file).0.unwrap();
    for is_v2 in [false, true] {
        let plan = plan(&study, &user(is_v2, &["memory", "cpu", "cpuacct"]), 1);
        assert_eq!(plan.refusals, [], "{is_v2}");
        let trial = &plan.trials[0];
        assert!(trial.hierarchies.iter().all(|hierarchy| hierarchy.base == *"/cg/users/1000"));
        assert_eq!(trial.absent["io"], "needs root, because it was not delegated");
    }
}

#[test]
fn a_knob_of_a_controller_that_was_not_delegated_is_refused_by_name() {
    let study = parse("user", IN_A_DIRECTORY, &shipped_file).0.unwrap();
    let plan = plan(&study, &user(true, &["cpu"]), 1);
    let refusals: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.what.as_str()).collect();
    assert_eq!(
        refusals,
        ["`memory.max` cannot be set: needs root, because it was not delegated"],
        "once for both groups, and nothing else"
    );
}

#[test]
fn a_job_larger_than_its_part_is_refused_with_both_sizes() {
    let mut study = study("io-weight-job");
    let disk = study.disks.get_mut("scratch").unwrap();
    disk.size = Some(Templated::Value(assay_study::DiskSize::Fixed(Bytes::mebi(1024))));
    let what = &plan(&study, &host(false), 1).refusals[0].what;
    assert!(what.contains("files of 1 GiB") && what.contains("204 MiB"), "{what}");
}

#[test]
fn a_disk_in_use_is_refused_before_the_run() {
    let mut study = study("io-weight");
    let disk = study.disks.values_mut().next().unwrap();
    disk.source = DiskSource::Block { device: "/dev/sda".to_owned(), erase: None };
    let free = unused_disk("sda", Bytes::mebi(4096));
    let on = |disk: Disk| plan(&study, &HostFacts { disks: vec![disk], ..host(false) }, 1).refusals;
    assert_eq!(on(free.clone()), []);
    for (holder, reason) in [
        (Holder::Mounted("/".into()), "mounted at /"),
        (Holder::Held("dm-0".to_owned()), "part of the device dm-0"),
        (Holder::Swap, "swap space"),
    ] {
        let refused = on(Disk { holders: vec![holder], ..free.clone() });
        assert!(refused[0].what.contains(reason), "{refused:?}");
    }
}

#[test]
fn a_null_blk_that_this_kernel_lacks_is_refused_before_the_run() {
    let mut study = study("io-weight");
    let disk = study.disks.values_mut().next().unwrap();
    disk.source = DiskSource::NullBlk(NullBlk::default());
    let mut host = host(true);
    assert!(plan(&study, &host, 1).refusals.is_empty());
    host.null_blk = Available::NotAvailable("no configfs here".to_owned());
    let refusals = plan(&study, &host, 1).refusals;
    assert!(refusals[0].what.contains("no configfs here"), "{refusals:?}");
    assert!(refusals[0].remedy.contains("assay lab run"), "{refusals:?}");
}
