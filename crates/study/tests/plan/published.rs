//! Studies at their documents' own sizes: what a machine must have, on recorded and on lesser ones.

use assay_host::facts::{Cpus, HostFacts, Partition};
use assay_study::plan::Footprint;

use super::*;

fn reasons(plan: &Plan) -> Vec<&str> {
    plan.refusals.iter().map(|refusal| refusal.what.as_str()).collect()
}

/// The processors of the founding document on the memory hierarchy: thread_siblings_list 0,4 1,5 2,6 3,7.
fn four_cores_with_two_threads() -> HostFacts {
    let all: assay_sys::units::CpuSet = "0-7".parse().unwrap();
    let cores = ["0,4", "1,5", "2,6", "3,7"].map(|core| core.parse().unwrap()).into();
    let known = host(false);
    let mut tools = known.tools.clone();
    for name in ["assay-load", "cc"] {
        tools.insert(name.to_owned(), tool(true, name));
    }
    let cpus = Cpus { online: all.clone(), allowed: all, cores, ..known.cpus.clone() };
    HostFacts { cpus, tools, ..known }
}

#[test]
fn a_build_runs_on_four_cores_with_one_thread_each_and_with_two() {
    let plan = plan(&published("smt"), &four_cores_with_two_threads(), 1);
    assert_eq!(reasons(&plan), [""; 0]);
    let cpus: Vec<String> = plan
        .trials
        .iter()
        .map(|trial| trial.placements[0].cpus.as_ref().unwrap().to_string())
        .collect();
    assert_eq!(cpus, ["0-3", "0-7", "0-3", "0-7"], "what only computes, and the build");
    let plan = assay_study::plan::plan(&published("smt"), &host(false), 1);
    assert!(reasons(&plan).iter().any(|what| what.contains("(SMT)")), "{:?}", plan.refusals);
}

#[test]
fn programs_larger_than_the_memory_of_the_host_are_refused() {
    let (study, host) = (published("memory-limit"), host(true));
    let planned = |own: u64| {
        let mut predictions = Predictions::default();
        for command in prediction_commands(&study, &host) {
            let files = if command[1] == "graph500" { 0 } else { 1 << 20 };
            predictions.add(command, Ok(Footprint { memory: own + files, files, own }));
        }
        plan_with(&study, &host, &predictions, 1)
    };
    let small = planned(100 << 20);
    assert_eq!(small.memory, Bytes::mebi(200), "both programs at once");
    assert!(!reasons(&small).iter().any(|what| what.contains("of memory for themselves")));
    let refused = planned(15 << 30);
    let what = "the programs need 30 GiB of memory for themselves, and this host has 1 GiB";
    assert!(reasons(&refused).contains(&what), "{:?}", refused.refusals);
}

#[test]
fn a_partition_beside_a_mounted_one_is_a_disk() {
    let part = |number: u32, holders| Partition {
        name: format!("sda{number}"),
        size: Bytes::mebi(2048),
        holders,
    };
    let mounted = Holder::Mounted("/".into());
    let disk = Disk {
        partitions: vec!["sda1".to_owned(), "sda2".to_owned()],
        parts: vec![part(1, vec![mounted.clone()]), part(2, vec![])],
        holders: vec![mounted],
        ..unused_disk("sda", Bytes::mebi(8192))
    };
    let host = HostFacts { disks: vec![disk], ..host(false) };
    let on = |device: &str, partitions: u32| {
        let mut study = study("io-weight");
        let disk = study.disks.values_mut().next().unwrap();
        disk.source = DiskSource::Block { device: device.to_owned(), erase: None };
        disk.size = None;
        disk.partitions = Templated::Value(partitions);
        plan(&study, &host, 1)
    };
    let free = on("/dev/sda2", 0);
    assert_eq!(reasons(&free), [""; 0]);
    let planned = &free.trials[0].disks[0];
    assert_eq!((planned.size, planned.whole.as_deref()), (Bytes::mebi(2048), Some("sda")));
    let changes = changes(&free.trials[0]);
    let scheduler = "echo bfq > /sys/block/sda/queue/scheduler";
    assert!(changes.iter().any(|planned| planned.change == scheduler), "{changes:#?}");
    for (device, partitions, why) in [
        ("/dev/sda1", 0, "the partition `sda1` is in use: it, or its disk, is mounted at /"),
        ("/dev/sda", 0, "the disk `sda` is in use"),
        ("/dev/sda2", 2, "a partition of `sda`, and cannot be divided"),
        ("/dev/sda7", 0, "there is no disk or partition `/dev/sda7`"),
    ] {
        let plan = on(device, partitions);
        assert!(reasons(&plan).iter().any(|what| what.contains(why)), "{:?}", plan.refusals);
    }
}
