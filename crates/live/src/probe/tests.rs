//! Groups whose files alone show that a limit is lost: made-up trees of cgroup2.

use std::fs;
use std::path::Path;

use assay_sys::kernel::Root;
use assay_test_support::hosts;
use tempfile::TempDir;

use super::*;

const POD: &str = "/kubepods/burstable/podu-1";
const SANDBOX: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const WEB: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// Its path, its processes, and its files.
type Group<'g> = (&'g str, &'g str, &'g [(&'g str, &'g str)]);

/// Groups with their processes and files. Process 7 says that it is in the group that lists it.
fn tree(groups: &[Group]) -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (path, processes, files) in groups {
        put(&format!("cg{path}/cgroup.procs"), processes);
        for (file, text) in *files {
            put(&format!("cg{path}/{file}"), text);
        }
        if !processes.is_empty() {
            put("proc/7/cgroup", &format!("0::{path}\n"));
        }
    }
    let root = Root::at(folder.path());
    (folder, root)
}

/// The same on v1: each path begins with a hierarchy, and process 7 is in these groups.
fn v1(groups: &[Group], of_process: &[(&str, &str)]) -> (TempDir, Root) {
    let (folder, root) = tree(groups);
    let (mut mounts, mut own) = (String::new(), String::new());
    for (controllers, group) in of_process {
        let at = controllers.trim_start_matches("name=");
        mounts += &format!("30 20 0:26 / /cg/{at} rw - cgroup cgroup rw,{controllers}\n");
        own += &format!("1:{controllers}:{group}\n");
    }
    fs::create_dir_all(folder.path().join("proc/self")).unwrap();
    fs::write(folder.path().join("proc/self/mountinfo"), mounts).unwrap();
    fs::write(folder.path().join("proc/7/cgroup"), own).unwrap();
    (folder, root)
}

/// `GROUP FILE: REASON` of each limit that is not enforced.
fn lost(root: &Root, folder: &Path, group: &str) -> Vec<String> {
    let facts = hosts::host(!root.is_directory("/cg/memory"));
    let target = Target::of_group(root, &facts.cgroup, "it", group).unwrap();
    let program = folder.join("none");
    let limits = vec![Limit::MemoryMax, Limit::CpuMax];
    let request = Request::new(root, facts, target, limits, (folder.join("state"), program));
    let answers = run(&request, root, &mut |_| ()).unwrap().document.answers;
    let lost = answers.into_iter().filter(|one| one.verdict == Verdict::NotEnforced);
    lost.map(|one| format!("{} {}: {}", one.group, one.knob, one.reason)).collect()
}

#[test]
fn a_container_whose_processes_are_in_the_pod_s_sandbox_is_named_with_their_group() {
    let [web, sandbox] = [WEB, SANDBOX].map(|id| format!("{POD}/{id}"));
    let limits = [("memory.max", "1000\n"), ("cpu.max", "66000 100000\n")];
    let none = [("memory.max", "max\n"), ("cpu.max", "max 100000\n")];
    let groups = [(POD, "", &none), (&web, "", &limits), (&sandbox, "7\n", &none)];
    let groups = groups.map(|(path, processes, files)| (path, processes, &files[..]));
    let (folder, root) = tree(&groups);
    let nobody = "no process is in the group or below it";
    let of_pod = format!("{nobody}; those of it are in {sandbox}");
    let says = ["memory.max", "cpu.max"];
    assert_eq!(lost(&root, folder.path(), POD), says.map(|file| format!("{web} {file}: {of_pod}")));
    assert_eq!(
        lost(&root, folder.path(), &web),
        says.map(|file| format!("{web} {file}: {nobody}"))
    );
}

#[test]
fn a_pod_that_stayed_tighter_than_its_resized_container_is_named() {
    let web = format!("{POD}/{WEB}");
    let groups: [Group; 2] = [
        (POD, "", &[("memory.max", "1610612736\n"), ("memory.current", "1610000000\n")]),
        (&web, "7\n", &[("memory.max", "2147483648\n")]),
    ];
    let (folder, root) = tree(&groups);
    let tighter = format!("{web} memory.max: {POD} above it has 1536 MiB, less than its 2 GiB");
    for group in [POD, &web] {
        assert_eq!(lost(&root, folder.path(), group).join("\n"), tighter);
    }
}

#[test]
fn a_limit_further_up_counts_where_the_group_itself_has_no_such_file() {
    let groups: [Group; 2] =
        [("/a", "", &[("memory.max", "1000\n")]), ("/a/b", "7\n", &[("cpu.max", "max 100000\n")])];
    let (folder, root) = tree(&groups);
    let facts = hosts::host(true);
    let target = Target::of_group(&root, &facts.cgroup, "it", "/a/b").unwrap();
    let limits = vec![Limit::MemoryMax];
    let program = folder.path().join("none");
    let state = folder.path().join("state");
    let request = Request::new(&root, facts, target, limits, (state, program));
    let document = run(&request, &root, &mut |_| ()).unwrap().document;
    assert_eq!(document.answers[0].group, "/a", "{document:?}");
    assert_eq!(document.answers[0].value.as_deref(), Some("1000"));
}

#[test]
fn a_probe_enters_only_a_group_with_room_and_makes_none() {
    let memory = |current| [("memory.max", "104857600\n"), ("memory.current", current)];
    let quota = [("cpu.max", "50000 100000\n"), ("cgroup.controllers", "cpu memory\n")];
    let tried = |current| {
        let files = [&memory(current)[..], &quota].concat();
        let none =
            [("cpu.max", "max 100000\n"), ("memory.max", "max\n"), ("memory.current", "0\n")];
        let groups: [Group; 2] = [("/a", "", &files), ("/a/b", "7\n", &none)];
        let (folder, root) = tree(&groups);
        fs::write(folder.path().join("proc/meminfo"), "").unwrap();
        let facts = hosts::host(true);
        let target = Target::of_group(&root, &facts.cgroup, "it", "/a/b").unwrap();
        let program = (folder.path().join("state"), folder.path().join("none"));
        let mut request = Request::new(&root, facts, target, vec![Limit::CpuMax], program);
        request.allowed.inside = true;
        let answer = run(&request, &root, &mut |_| ()).unwrap().document.answers.remove(0);
        assert_eq!(root.directories("/cg").unwrap(), ["a"]);
        (answer.verdict, answer.reason)
    };
    let (verdict, reason) = tried("94371840\n");
    assert_eq!(verdict, Verdict::NotProvable);
    assert_eq!(reason, "/a has room for 10 MiB, and a proof needs 56 MiB");
    // The program of this test cannot be started.
    assert!(tried("0\n").1.starts_with("cannot start"), "{:?}", tried("0\n"));
}

#[test]
fn a_threaded_group_which_lists_no_processes_has_its_threads() {
    let (folder, root) = tree(&[("/a", "7\n", &[("cgroup.threads", "7\n8\n")])]);
    // To read it is an error there.
    fs::remove_file(folder.path().join("cg/a/cgroup.procs")).unwrap();
    let target = Target::of_group(&root, &hosts::host(true).cgroup, "it", "/a").unwrap();
    assert_eq!(target.processes, 2);
}

const UNIT: &str = "/system.slice/cache.service";

#[test]
fn on_v1_a_unit_is_probed_that_has_no_group_of_cpu() {
    let [of_systemd, of_memory] = ["/systemd", "/memory"].map(|at| format!("{at}{UNIT}"));
    let no_quota = [("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")];
    let groups: [Group; 4] = [
        (&of_systemd, "7\n", &[]),
        ("/memory/system.slice", "", &[("memory.limit_in_bytes", "1048576\n")]),
        (&of_memory, "7\n", &[("memory.limit_in_bytes", "2097152\n")]),
        ("/cpu/system.slice", "7\n", &no_quota),
    ];
    let own = |memory| [("memory", memory), ("cpu", "/system.slice"), ("name=systemd", UNIT)];
    let (folder, root) = v1(&groups, &own(UNIT));
    let says = format!("{UNIT} memory.limit_in_bytes: ");
    let tighter = format!("{says}/system.slice above it has 1 MiB, less than its 2 MiB");
    assert_eq!(lost(&root, folder.path(), UNIT), [tighter]);

    // Its processes were moved out of its group of one controller.
    let (folder, root) = v1(&groups, &own("/other"));
    let above = folder.path().join("cg/memory/system.slice/memory.limit_in_bytes");
    fs::write(above, "9223372036854771712\n").unwrap();
    fs::write(folder.path().join(format!("cg{of_memory}/cgroup.procs")), "").unwrap();
    let moved = format!("{says}its processes are in /other, where this file has no effect");
    assert_eq!(lost(&root, folder.path(), UNIT), [moved]);
}

#[test]
fn on_v1_caps_of_a_group_above_do_not_hold_below_it() {
    let file = Limit::WriteMax.file(false).unwrap();
    let groups: [Group; 2] =
        [("/blkio/a", "", &[(file, "8:0 1000\n")]), ("/blkio/a/b", "7\n", &[(file, "8:0 2000\n")])];
    let (_folder, root) = v1(&groups, &[("blkio", "/a/b")]);
    let layout = hosts::host(false).cgroup;
    let target = Target::of_group(&root, &layout, "it", "/a/b").unwrap();
    let place = target.place(&root, &layout, Limit::WriteMax).unwrap();
    let claim = claim::claim(&root, Limit::WriteMax, &target, &place, &Wishes::default());
    let claim = claim.unwrap().unwrap();
    assert_eq!((claim.lost, claim.hindered), (None, None));
}

#[test]
fn of_levels_with_the_same_cpus_the_one_that_leaves_some_out_is_tried() {
    let cpus = |own, effective| [("cpuset.cpus", own), ("cpuset.cpus.effective", effective)];
    let (top, scope, container) = (cpus("", "0-1\n"), cpus("1\n", "1\n"), cpus("\n", "1\n"));
    let groups: [Group; 3] = [("", "", &top[1..]), ("/s", "", &scope), ("/s/c", "7\n", &container)];
    let (_folder, root) = tree(&groups);
    let layout = hosts::host(true).cgroup;
    let target = Target::of_group(&root, &layout, "it", "/s/c").unwrap();
    let place = target.place(&root, &layout, Limit::CpusetCpus).unwrap();
    let claim = claim::claim(&root, Limit::CpusetCpus, &target, &place, &Wishes::default());
    let claim = claim.unwrap().unwrap();
    assert_eq!((place.shown(&claim.group), claim.value.as_deref()), ("/s".to_owned(), Some("1")));
}

const MANIFEST: &str = "
kind: Pod
metadata: {name: web-0, namespace: shop, uid: u-1}
spec:
  containers:
  - {name: web, resources: {limits: {cpu: 660m, memory: 4096}}}
  - {name: other, resources: {limits: {cpu: 1, memory: 8192}}}
status:
  containerStatuses:
  - {name: web, containerID: 'containerd://2222222222222222222222222222222222222222222222222222222222222222'}
  - {name: other, containerID: 'containerd://1111111111111111111111111111111111111111111111111111111111111111'}
";

#[test]
fn of_a_manifest_counts_what_it_asks_for_the_target_and_what_is_in_it() {
    let [web, other] = [WEB, SANDBOX].map(|id| format!("{POD}/{id}"));
    let limits = [("memory.max", "4096\n"), ("cpu.max", "max 100000\n")];
    let none = [("memory.max", "max\n"), ("cpu.max", "max 100000\n")];
    let groups: [Group; 3] = [(POD, "", &none), (&web, "7\n", &limits), (&other, "", &none)];
    let (folder, root) = tree(&groups);
    let mounts = "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
    fs::create_dir_all(folder.path().join("proc/self")).unwrap();
    fs::write(folder.path().join("proc/self/mountinfo"), mounts).unwrap();
    for group in ["", "/kubepods", "/kubepods/burstable", POD, &web, &other] {
        fs::write(folder.path().join(format!("cg{group}/cgroup.controllers")), "cpu memory\n")
            .unwrap();
    }
    let texts = [("pod.yaml".to_owned(), MANIFEST.to_owned())];
    let manifest = assay_audit::manifest(&texts).unwrap();
    let unmet = |group: &str| -> Vec<String> {
        let place = assay_audit::Place::Group(group.to_owned());
        let wishes = Wishes::read(&root, group, Some((&manifest, "pod.yaml")), &place).unwrap();
        let unmet = wishes.unmet().map(|one| one.file.rsplit_once(POD).unwrap().1.to_owned());
        unmet.filter(|file| file.ends_with("cpu.max") || file.ends_with("memory.max")).collect()
    };
    assert_eq!(unmet(&web), [format!("/{WEB}/cpu.max")]);
    let mut of_pod = unmet(POD);
    of_pod.sort();
    let all = [
        format!("/{SANDBOX}/cpu.max"),
        format!("/{SANDBOX}/memory.max"),
        format!("/{WEB}/cpu.max"),
        "/cpu.max".to_owned(),
        "/memory.max".to_owned(),
    ];
    assert_eq!(of_pod, all);
}
