//! Trees of real layouts, laid out as files and audited from the first byte: exactly the expected rules fire.

mod laid_out;
mod recordings;
mod rules;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assay_host::facts::Available;
use assay_sys::kernel::Root;

use super::{read_snapshot, take_snapshot, write_snapshot};
use crate::audit;
use laid_out::HostText;

/// A tree: directories with files, and the findings that it must give.
struct Tree {
    folder: tempfile::TempDir,
    expected: BTreeSet<String>,
}

fn lay_out(text: &str) -> Tree {
    let host = HostText::parse(text);
    Tree { folder: host.lay_out(), expected: host.expected }
}

fn trees() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/collect/trees");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    names.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_tree_gives_exactly_its_findings() {
    let trees = trees();
    assert!(trees.len() >= 6);
    let mut wrong = String::new();
    for (path, text) in trees {
        let tree = lay_out(&text);
        let snapshot = take_snapshot(&Root::at(tree.folder.path())).unwrap();
        let audit = audit(&snapshot);
        let found: BTreeSet<String> =
            audit.findings.iter().map(|one| format!("{} {}", one.code, one.group)).collect();
        let missing: Vec<&String> = tree.expected.difference(&found).collect();
        let surplus: Vec<&String> = found.difference(&tree.expected).collect();
        if !missing.is_empty() || !surplus.is_empty() {
            wrong += &format!("{}: missing {missing:#?}, surplus {surplus:#?}\n", path.display());
            wrong += &crate::audit_page(&audit, true).unwrapped();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Each tree is also kept as a snapshot, for `assay audit crates/audit/tests/fixtures/kubelet-1.36` and for readers of the format.
#[test]
fn every_tree_is_kept_as_a_snapshot() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../audit/tests/fixtures");
    for (path, text) in trees() {
        let tree = lay_out(&text);
        let mut snapshot = take_snapshot(&Root::at(tree.folder.path())).unwrap();
        // When it was made is all that differs from one time to the next.
        "2026-11-26T00:00:00Z".clone_into(&mut snapshot.taken_at);
        let text = serde_json::to_string_pretty(&snapshot).unwrap() + "\n";
        let file = folder.join(path.file_stem().unwrap());
        if std::env::var_os("ASSAY_BLESS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, &text).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        let hint = "ASSAY_BLESS=1 cargo test -p assay-audit every_tree writes";
        assert!(kept == text, "{hint} {}", file.display());
    }
}

/// What crun 1.8.1 made of four containers on v1, recorded and then reduced to their groups.
#[test]
fn a_recording_of_real_containers_gives_exactly_its_findings() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../audit/tests/fixtures/crun-v1");
    let audit = audit(&read_snapshot(&file).unwrap());
    let found: Vec<(&str, &str)> =
        audit.findings.iter().map(|one| (one.code, one.group.get(..14).unwrap_or("/"))).collect();
    let expected = [
        ("A-ABOVE-HOST", "/assay-live/c3"),
        ("A-BUFFERED-V1", "/assay-live/b2"),
        ("A-SOFT-LIMIT", "/assay-live/a1"),
        ("A-CLAMPED", "/assay-live/c3"),
        ("A-KERNEL-REWEIGHT", "/"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_snapshot_judged_elsewhere_gives_the_same() {
    for (path, text) in trees() {
        let tree = lay_out(&text);
        let snapshot = take_snapshot(&Root::at(tree.folder.path())).unwrap();
        let file = tree.folder.path().join("host.json");
        write_snapshot(&file, &snapshot).unwrap();
        let again = read_snapshot(&file).unwrap();
        assert_eq!(audit(&again), audit(&snapshot), "{}", path.display());
    }
}

#[test]
fn a_finding_names_the_container_as_its_user_does() {
    let docker = |(path, _): &(PathBuf, String)| path.ends_with("docker.tree");
    let tree = lay_out(&trees().into_iter().find(docker).unwrap().1);
    let snapshot = take_snapshot(&Root::at(tree.folder.path())).unwrap();
    let file = tree.folder.path().join("host.json");
    write_snapshot(&file, &snapshot).unwrap();
    fs::remove_dir_all(tree.folder.path().join("var")).unwrap();
    let page = crate::audit_page(&audit(&read_snapshot(&file).unwrap()), false).unwrapped();
    let line =
        "A-STACKED  container web (docker 11aa11aa11aa)  /system.slice/docker-11aa11aa11aa.scope";
    assert!(page.contains(line), "{page}");
}

#[test]
fn a_file_that_cannot_be_read_is_not_available_and_never_missing() {
    let tree = lay_out(&trees().remove(0).1);
    let group = tree.folder.path().join("sys/fs/cgroup/g");
    fs::create_dir(&group).unwrap();
    // A directory in the place of a file cannot be read, by root neither.
    fs::create_dir(group.join("cgroup.threads")).unwrap();
    let long = "1".repeat(100 << 10);
    fs::write(group.join("cpu.weight"), long).unwrap();
    let mount = "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    fs::write(tree.folder.path().join("proc/self/mountinfo"), mount).unwrap();
    let snapshot = take_snapshot(&Root::at(tree.folder.path())).unwrap();
    let groups = &snapshot.hierarchies.last().unwrap().groups;
    let ours = groups.iter().find(|one| one.path == "/g").unwrap();
    assert!(matches!(ours.threads, Available::NotAvailable(_)), "{ours:?}");
    let weight = ours.files["cpu.weight"].reason().unwrap_or_default();
    assert!(weight.contains("longer than"), "{weight}");
    assert!(audit(&snapshot).not_looked_at.iter().any(|line| line.contains("may not read")));
}

#[test]
fn groups_of_a_user_hide_none_of_the_host_however_many_there_are() {
    let tree = lay_out(&trees().remove(0).1);
    let mount = "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    fs::write(tree.folder.path().join("proc/self/mountinfo"), mount).unwrap();
    let top = tree.folder.path().join("sys/fs/cgroup");
    let mine = "user.slice/user-1000.slice/user@1000.service";
    let deep = (0..14).fold(top.join(mine), |path, _| path.join("x".repeat(240)));
    fs::create_dir_all(&deep).unwrap();
    (0..2500).for_each(|number| fs::create_dir(deep.join(number.to_string())).unwrap());
    fs::create_dir_all(top.join("zz.slice/z.service")).unwrap();
    let snapshot = take_snapshot(&Root::at(tree.folder.path())).unwrap();
    let hierarchy = snapshot.hierarchies.last().unwrap();
    assert!(hierarchy.left_out.as_ref().unwrap().contains("beyond the first"), "{hierarchy:?}");
    let at = |path: &str| hierarchy.groups.iter().position(|group| group.path == path);
    assert!(at("/zz.slice/z.service").is_some());
    assert!(at(&format!("/{mine}")).is_some_and(|mine| Some(mine) < at("/zz.slice")));
    let text = serde_json::to_string(&snapshot).unwrap();
    assert!(crate::Snapshot::parse(&text).is_ok(), "parents come before children");
}

#[test]
fn groups_of_one_claimant_hide_none_of_another_however_many_there_are() {
    let tree = lay_out(&trees().remove(0).1);
    let mount = "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    fs::write(tree.folder.path().join("proc/self/mountinfo"), mount).unwrap();
    let top = tree.folder.path().join("sys/fs/cgroup");
    let user = |uid| format!("user.slice/user-{uid}.slice/user@{uid}.service/app.slice");
    let container = format!("docker/{}", "0".repeat(64));
    let few = [user(1000), user(1002), container];
    let make = |above: &Path, count| {
        (0..count).for_each(|at| fs::create_dir_all(above.join(format!("g{at}"))).unwrap());
    };
    few.iter().for_each(|above| make(&top.join(above), 40));
    make(&(0..14).fold(top.join(user(1001)), |path, _| path.join("x".repeat(240))), 2500);
    make(&top.join(user(1001)).join("z.service"), 40);
    let snapshot = take_snapshot(&Root::at(tree.folder.path())).unwrap();
    let hierarchy = snapshot.hierarchies.last().unwrap();
    let read = |above: &str| {
        let above = format!("/{above}/g");
        hierarchy.groups.iter().filter(|group| group.path.starts_with(&above)).count()
    };
    let own = format!("{}/z.service", user(1001));
    assert_eq!(few.iter().map(|above| read(above)).collect::<Vec<_>>(), [40, 40, 40]);
    assert_eq!(read(&own), 40, "beside the many in another directory");
    let why = hierarchy.left_out.as_deref().unwrap();
    let is_said = why.contains("MiB: at least ") && why.ends_with(" of uid 1001");
    assert!(is_said && !why.contains("host"), "{why}");
}

#[test]
fn without_control_groups_there_is_nothing_to_audit() {
    let empty = tempfile::tempdir().unwrap();
    let error = take_snapshot(&Root::at(empty.path())).unwrap_err();
    assert_eq!(error.code, assay_sys::exit::Code::Host);
}

/// A tree with a table of mounts and files, by path.
pub(super) fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = Root::at(folder.path());
    (folder, root)
}

/// In a container with a control group namespace of its own the host's mount has such a root (cgroup_namespaces(7)).
#[test]
fn the_top_of_a_mount_is_known_by_its_files_and_not_by_the_table_of_mounts() {
    let is_whole = |file: &str| {
        let mount = "30 20 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let (_tree, root) = host(&[("proc/self/mountinfo", mount), (file, "domain\n")]);
        take_snapshot(&root).unwrap().hierarchies[0].is_whole
    };
    assert!(is_whole("sys/fs/cgroup/cgroup.procs"));
    assert!(!is_whole("sys/fs/cgroup/cgroup.type") && !is_whole("sys/fs/cgroup/cgroup.events"));
}

/// On v1 the kernel leaves out threads that have no number in the reader's namespace; on v2 it writes 0.
#[test]
fn threads_of_another_pid_namespace_are_not_available() {
    let status = ("proc/self/status", "NSpid:\t4711\t7\nUid:\t0\t0\t0\t0\n");
    let v1 = "30 20 0:26 / /cg rw - cgroup cgroup rw,cpu\n";
    let (_tree, root) = host(&[
        status,
        ("proc/self/mountinfo", v1),
        ("cg/release_agent", "\n"),
        ("cg/a/cpu.shares", "512\n"),
        ("cg/a/tasks", ""),
    ]);
    let snapshot = take_snapshot(&root).unwrap();
    let group = &snapshot.hierarchies[0].groups[1];
    assert!(group.threads.reason().is_some_and(|why| why.contains("--pid host")), "{group:?}");
    assert!(audit(&snapshot).findings.iter().all(|one| one.code != "A-EMPTY"));

    let v2 = "30 20 0:26 / /cg rw - cgroup2 cgroup2 rw\n";
    for status in [status, ("proc/self/status", "NSpid:\t7\n")] {
        let (_tree, root) = host(&[
            status,
            ("proc/self/mountinfo", v2),
            ("cg/cgroup.controllers", "cpu io\n"),
            ("cg/cgroup.procs", "0\n0\n"),
            ("cg/a/cpu.weight", "200\n"),
            ("cg/a/io.weight", "default 200\n"),
            ("cg/a/cgroup.threads", "0\n0\n0\n"),
            ("cg/a/cgroup.procs", "0\n"),
        ]);
        let snapshot = take_snapshot(&root).unwrap();
        let hierarchy = &snapshot.hierarchies[0];
        let group = &hierarchy.groups[1];
        assert_eq!(group.threads, Available::Value(3), "lines are counted");
        assert!(hierarchy.loose.as_ref().unwrap().reason().is_some());
        assert!(group.real_time.as_ref().unwrap().reason().is_some());
        assert!(group.open_on.as_ref().unwrap().reason().is_some());
    }
}

#[test]
fn a_file_system_is_found_on_its_disk_by_the_name_of_its_device_too() {
    let mounts = "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
        26 1 8:1 / /boot/efi rw - vfat /dev/sda1 rw\n\
        27 1 0:45 / / rw - btrfs /dev/sda2 rw\n\
        28 1 0:46 / /data rw - btrfs /dev/mapper/vg-data rw\n\
        29 1 0:47 / /home/me/x rw - fuse.mine /dev/sda2 rw\n";
    let (_tree, root) = host(&[
        ("proc/self/mountinfo", mounts),
        ("sys/fs/cgroup/cgroup.controllers", "io\n"),
        ("sys/block/sda/dev", "8:0\n"),
        ("sys/block/sda/sda1/dev", "8:1\n"),
        ("sys/block/sda/sda2/dev", "8:2\n"),
        ("sys/block/dm-0/dev", "253:0\n"),
        ("sys/block/dm-0/dm/name", "vg-data\n"),
    ]);
    let disks = take_snapshot(&root).unwrap().disks;
    let of = |name: &str| {
        let disk = disks.iter().find(|disk| disk.name == name).unwrap();
        disk.file_systems.join(" ")
    };
    assert_eq!((of("sda").as_str(), of("dm-0").as_str()), ("btrfs vfat", "btrfs"));
}

#[test]
fn memory_that_lxcfs_shows_is_not_that_of_the_machine() {
    let mounts = "25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
        26 1 0:60 /proc/meminfo /proc/meminfo rw - fuse.lxcfs lxcfs rw\n\
        27 1 0:60 /sys/devices/system/cpu /sys/devices/system/cpu rw - fuse.lxcfs lxcfs rw\n";
    let (_tree, root) = host(&[
        ("proc/self/mountinfo", mounts),
        ("sys/fs/cgroup/cgroup.type", "domain\n"),
        ("proc/meminfo", "MemTotal: 2097152 kB\nSwapTotal: 0 kB\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
    ]);
    let snapshot = take_snapshot(&root).unwrap();
    let machine = &snapshot.machine;
    for why in [machine.memory.reason(), machine.swap.reason(), machine.cpus.reason()] {
        assert!(why.is_some_and(|why| why.contains("lxcfs")), "{machine:?}");
    }
    assert!(audit(&snapshot).not_looked_at.iter().any(|line| line.contains("lxcfs")));
}
