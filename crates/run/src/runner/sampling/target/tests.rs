//! What a recording follows, on a fake host.

use super::*;
use crate::runner::tests::fake_host::FakeHost;

fn facts(is_v2: bool) -> HostFacts {
    assay_test_support::hosts::host(is_v2)
}

#[test]
fn every_kind_of_target_has_a_name_and_a_title() {
    let command = FollowTarget::Command(["fio", "--name=a b"].map(OsString::from).to_vec());
    let all = [command, FollowTarget::Process(12), FollowTarget::Group("/web".to_owned())];
    let received = all.map(|target| [target.kind().to_owned(), target.name(), target.title()]);
    let expected = [
        ["command", "fio --name=a b", "fio --name=a b"],
        ["process", "12", "process 12"],
        ["group", "/web", "group /web"],
    ];
    assert_eq!(received, expected.map(|line| line.map(str::to_owned)));
}

#[test]
fn a_process_is_followed_under_its_own_name_or_refused() {
    let host = FakeHost::new();
    host.put("/proc/12/comm", "kworker/0:1\n");
    let follow = |pid| FollowTarget::Process(pid).targets(&host.root(), &facts(true));
    let processes = follow(12).unwrap().processes.unwrap();
    assert_eq!(processes[0].name, "kworker/0_1", "a colon separates the thread");
    assert_eq!(processes[0].of, Processes::Tree { pid: 12, itself: true });
    let error = follow(13).unwrap_err().to_string();
    assert!(error.contains("/proc/13/comm") && error.contains("no process has this id"), "{error}");
}

#[test]
fn a_command_is_followed_without_the_recording_itself() {
    let words = ["/usr/bin/fio", "job"].map(OsString::from).to_vec();
    let targets = FollowTarget::Command(words).targets(&FakeHost::new().root(), &facts(true));
    let targets = targets.unwrap();
    let own = std::process::id();
    let processes = targets.processes.unwrap();
    assert_eq!(processes[0].name, "fio");
    assert_eq!(processes[0].of, Processes::Tree { pid: own, itself: false });
    assert!(targets.groups.is_empty() && targets.throttles.is_err());
}

#[test]
fn a_group_is_found_in_every_hierarchy_that_has_it() {
    let host = FakeHost::new();
    for mount in ["cpu", "cpuacct", "memory"] {
        host.put(format!("/cg/{mount}/web/cgroup.procs"), "");
    }
    let targets = FollowTarget::Group("/web/".to_owned()).targets(&host.root(), &facts(false));
    let targets = targets.unwrap();
    let group = &targets.groups[0];
    assert_eq!(group.name, "web");
    assert_eq!(group.cpu, Ok(CpuFile::Cpuacct("/cg/cpuacct/web/cpuacct.usage".into())));
    let memory = MemoryFiles { directory: "/cg/memory/web".into(), is_v2: false };
    assert_eq!(group.memory, Ok(memory));
    assert_eq!(group.pressure, None);
    let Processes::Group(found) = &targets.processes.unwrap()[0].of else { panic!("no group") };
    assert_eq!(found.len(), 3, "not where it does not exist: {found:?}");
}

#[test]
fn a_group_of_cgroup_2_has_pressure_and_one_directory() {
    let host = FakeHost::new();
    host.put("/cg/web/cgroup.procs", "");
    let follow = |path: &str, facts: &HostFacts| {
        FollowTarget::Group(path.to_owned()).targets(&host.root(), facts)
    };
    let targets = follow("web", &facts(true)).unwrap();
    let group = &targets.groups[0];
    assert_eq!(group.cpu, Ok(CpuFile::CpuStat("/cg/web/cpu.stat".into())));
    assert_eq!(group.pressure.as_deref(), Some(Path::new("/cg/web")));
    let of = &targets.processes.unwrap()[0].of;
    assert_eq!(*of, Processes::Group(vec!["/cg/web".into()]), "each directory once");
    assert_eq!(follow("/", &facts(true)).unwrap().groups[0].name, "root");
    // cgroup2 without any controller, beside hierarchies of v1.
    let mut bare = facts(true);
    bare.cgroup.controllers.clear();
    let group = follow("web", &bare).unwrap().groups.remove(0);
    assert!(group.cpu.unwrap_err().contains("`cpu`") && group.memory.is_err());
    assert!(group.pressure.is_some());
    let error = follow("gone", &facts(true)).unwrap_err().to_string();
    assert!(error.contains("gone") && error.contains("assay top"), "{error}");
}
