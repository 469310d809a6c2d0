//! `assay probe`: limits that act, limits that are lost on the way, and what it leaves.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use assay_host::facts::Hierarchy;
use assay_host::gather;
use assay_sys::kernel::Root;
use assay_test_support::{Need, skip};
use serde_json::Value;

use crate::bench::Bench;
use crate::own_device::{Mounted, OwnDevice};
use crate::running::Running;
use crate::silent::{Frozen, ext4};

const CONTROLLERS: [&str; 5] = ["cpu", "memory", "pids", "cpuset", "io"];

/// A group in a group in each hierarchy, and a process in the inner one. Dropping it removes all.
struct Limited {
    name: String,
    is_v2: bool,
    tops: Vec<PathBuf>,
    sleeper: Child,
}

impl Limited {
    fn new(name: &str) -> Self {
        let name = format!("assay-test-probe-{name}-{}", std::process::id());
        let layout = gather(&Root::real()).unwrap().cgroup;
        let is_v2 = layout.is_on_v2("memory");
        let mut tops: Vec<PathBuf> = Vec::new();
        for controller in CONTROLLERS.into_iter().chain(["devices"]) {
            let (Hierarchy::V1(mount) | Hierarchy::V2(mount)) =
                &layout.controllers[controller].hierarchy
            else {
                continue;
            };
            let top = mount.join(&name);
            if tops.contains(&top) {
                continue;
            }
            fs::create_dir(&top).unwrap();
            if is_v2 {
                let enabled = "+cpu +memory +pids +cpuset +io";
                fs::write(mount.join("cgroup.subtree_control"), enabled).unwrap();
                fs::write(top.join("cgroup.subtree_control"), enabled).unwrap();
            }
            fs::create_dir(top.join("in")).unwrap();
            for group in [top.clone(), top.join("in")] {
                for file in ["cpuset.cpus", "cpuset.mems"]
                    .map(|file| group.join(file))
                    .into_iter()
                    .filter(|_| !is_v2)
                {
                    if let Ok(inherited) = fs::read_to_string(mount.join(file.file_name().unwrap()))
                    {
                        fs::write(&file, inherited).unwrap();
                    }
                }
            }
            tops.push(top);
        }
        let sleeper = Command::new("sleep").arg("600").spawn().unwrap();
        let limited = Self { name, is_v2, tops, sleeper };
        limited.enter("in");
        limited
    }

    /// Moves its process to the inner group, or elsewhere below the mount.
    fn enter(&self, group: &str) {
        for top in &self.tops {
            fs::write(top.join(group).join("cgroup.procs"), self.sleeper.id().to_string()).unwrap();
        }
    }

    fn set(&self, group: &str, [v1, v2]: [&str; 2], value: &str) {
        let file = if self.is_v2 { v2 } else { v1 };
        let paths = self.tops.iter().map(|top| top.join(group).join(file));
        fs::write(paths.clone().find(|path| path.exists()).unwrap(), value).unwrap();
    }

    fn inner(&self) -> String {
        format!("/{}/in", self.name)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = self.sleeper.kill();
        let _ = self.sleeper.wait();
        for top in &self.tops {
            for group in [top.join("in"), top.clone()] {
                let _ = fs::remove_dir(group);
            }
        }
    }
}

const MEMORY: [&str; 2] = ["memory.limit_in_bytes", "memory.max"];
const PIDS: [&str; 2] = ["pids.max", "pids.max"];
const QUOTA: [&str; 2] = ["cpu.cfs_quota_us", "cpu.max"];
const CPUS: [&str; 2] = ["cpuset.cpus", "cpuset.cpus"];

fn probe(bench: &Bench, group: &str, more: &[&str], code: i32) -> Value {
    let mut command = bench.program();
    command.args(["probe", "--group", group, "-o", "json"]).args(more);
    let ended = bench.finish(command);
    ended.assert_code(code);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The answer about one of these files.
fn answer<'d>(document: &'d Value, files: [&str; 2]) -> &'d Value {
    let answers = document["answers"].as_array().unwrap();
    let found = answers.iter().find(|one| files.contains(&one["knob"].as_str().unwrap()));
    found.unwrap_or_else(|| panic!("{document:#}"))
}

#[test]
fn limits_act_on_a_copy_and_not_on_its_twin() {
    let Some(bench) = Bench::with("probe: limits", &CONTROLLERS.map(Need::Controller)) else {
        return;
    };
    let limited = Limited::new("limits");
    limited.set("in", MEMORY, "104857600");
    limited.set("in", PIDS, "50");
    limited.set("in", CPUS, "0");
    limited.set("in", ["cpu.shares", "cpu.weight"], "300");
    let plan = bench.assay(["probe", "--group", &limited.inner(), "--dry-run"]);
    plan.assert_code(0);
    assert!(plan.stdout.contains("memory MiB"), "{}", plan.stdout);
    let document = probe(&bench, &limited.inner(), &[], 0);
    for files in [MEMORY, PIDS, CPUS] {
        let answer = answer(&document, files);
        assert_eq!(answer["verdict"], "enforced", "{answer:#}");
        assert_eq!(
            answer["measured"].as_array().unwrap().len(),
            if files[0] == "cpuset.cpus" { 1 } else { 2 },
            "{answer:#}"
        );
    }
    // Beside other tests a weight may not be provable.
    assert_ne!(
        answer(&document, ["cpu.shares", "cpu.weight"])["verdict"],
        "not-enforced",
        "{document:#}"
    );
    assert_eq!(
        (&document["restored"], &document["processes"]),
        (&Value::Bool(true), &Value::from(1))
    );
    drop(limited);
    bench.assert_host_is_as_before("after a probe");
}

#[test]
fn limits_that_are_lost_are_named_with_the_level_that_loses_them() {
    let Some(bench) = Bench::with("probe: lost limits", &CONTROLLERS.map(Need::Controller)) else {
        return;
    };
    let limited = Limited::new("lost");
    limited.set("in", MEMORY, "104857600");
    limited.set("", MEMORY, "67108864");
    limited.set("", PIDS, "90");
    let document = probe(&bench, &limited.inner(), &["--only", "memory,pids"], 1);
    let tighter = answer(&document, MEMORY);
    assert_eq!(tighter["verdict"], "not-enforced");
    let says = format!("/{} above it has 64 MiB, less than its 100 MiB", limited.name);
    assert_eq!(tighter["reason"], says.as_str());
    // The group itself has no limit of tasks: that of the group above is tried beside that one.
    let above = answer(&document, PIDS);
    assert_eq!(
        (&above["verdict"], &above["group"]),
        (&Value::from("enforced"), &Value::from(format!("/{}", limited.name)))
    );

    limited.set("", MEMORY, "209715200");
    let unit = bench.write("in.service", "[Service]\nMemoryMax=120M\nTasksMax=infinity\n");
    let more = ["--only", "memory,pids", "--manifest", unit.to_str().unwrap(), "-n", "2"];
    let document = probe(&bench, &limited.inner(), &more, 1);
    let asked = answer(&document, MEMORY);
    assert_eq!(asked["reason"], "MemoryMax=120M was asked for, and the file says 104857600");
    let tried = answer(&document, PIDS)["measured"].as_array().unwrap().last().unwrap();
    assert_eq!(tried, "2 tries: 2 enforced, 0 not enforced");

    if !limited.is_v2 {
        limited.enter("");
        let document = probe(&bench, &limited.inner(), &["--only", "memory"], 1);
        assert_eq!(answer(&document, MEMORY)["reason"], "no process is in the group or below it");
    }
}

/// A loop disk with ext4, mounted; it is unmounted first.
struct Disk {
    mounted: Mounted,
    device: OwnDevice,
}

impl Disk {
    fn new(bench: &Bench) -> Self {
        let (device, mounted) = ext4(bench, 256);
        Self { mounted, device }
    }

    /// A file of the block device in sysfs.
    fn file(&self, name: &str) -> PathBuf {
        PathBuf::from("/sys/block").join(self.device.node.file_name().unwrap()).join(name)
    }

    fn set_scheduler(&self, name: &str) {
        fs::write(self.file("queue/scheduler"), name).unwrap();
    }

    fn number(&self) -> String {
        fs::read_to_string(self.file("dev")).unwrap().trim().to_owned()
    }
}

#[test]
fn a_cap_of_writes_is_tried_where_somebody_allows_it() {
    let Some(bench) = Bench::with("probe: writes", &[Need::Controller("io"), Need::Loop]) else {
        return;
    };
    let disk = Disk::new(&bench);
    let limited = Limited::new("writes");
    let value = if limited.is_v2 { "wbps=50000000" } else { "50000000" };
    let files = ["blkio.throttle.write_bps_device", "io.max"];
    limited.set("in", files, &format!("{} {value}", disk.number()));
    let tried = |folder: Option<&str>| {
        let folder = folder.map(|folder| ["--write-in", folder]).into_iter().flatten();
        let more: Vec<&str> = ["--only", "io"].into_iter().chain(folder).collect();
        answer(&probe(&bench, &limited.inner(), &more, 0), files).clone()
    };
    let of = |answer: &Value| answer["reason"].as_str().unwrap().to_owned();
    assert!(of(&tried(None)).contains("a proof writes only where --write-in allows it"));
    let elsewhere = tried(Some("/dev/shm"));
    assert!(of(&elsewhere).contains("/dev/shm is on"), "{elsewhere:#}");
    let frozen = Frozen::freeze(&disk.mounted.at);
    let silent = tried(disk.mounted.at.to_str());
    assert!(of(&silent).contains("its file system does not answer"), "{silent:#}");
    drop(frozen);
    let cap = tried(disk.mounted.at.to_str());
    assert_ne!(cap["verdict"], "not-enforced", "{cap:#}");
    assert_eq!(cap["measured"].as_array().unwrap().len(), 2, "{cap:#}");
    assert_eq!(fs::read_dir(&disk.mounted.at).unwrap().count(), 1, "only lost+found");
}

#[test]
fn a_part_of_a_disk_is_lost_without_a_scheduler_that_divides() {
    let needs = [Need::Controller("io"), Need::Loop];
    let Some(bench) = Bench::with("probe: parts of disks", &needs) else { return };
    let limited = Limited::new("parts");
    let file = if limited.is_v2 { "io.weight" } else { "blkio.bfq.weight" };
    let disk = Disk::new(&bench);
    disk.set_scheduler("bfq");
    limited.set("in", [file, file], "300");
    if !limited.is_v2 {
        // Without any limit v1 counts nothing but what bfq serves.
        let no_limit = format!("{} 1152921504606846976", disk.number());
        limited.set("", ["blkio.throttle.read_bps_device", ""], &no_limit);
    }
    // The group reads, so that the disk is the one that it uses.
    let top = limited.tops.iter().find(|top| top.join("in").join(file).exists()).unwrap();
    let entry = format!("echo $$ >{}/cgroup.procs", top.join("in").display());
    let device = disk.device.node.display();
    let read = format!("{entry}; exec dd if={device} of=/dev/null bs=1M count=8 iflag=direct");
    assert!(Command::new("sh").args(["-c", &read]).output().unwrap().status.success());
    let tried = |more: &[&str], code| {
        let more: Vec<&str> = ["--only", "io"].iter().chain(more).copied().collect();
        answer(&probe(&bench, &limited.inner(), &more, code), [file, file]).clone()
    };
    let asked = tried(&[], 0);
    assert!(asked["reason"].as_str().unwrap().contains("--saturate-disks"), "{asked:#}");
    let saturated = tried(&["--saturate-disks"], 0);
    assert_ne!(saturated["verdict"], "not-enforced", "{saturated:#}");
    assert_eq!(saturated["measured"].as_array().unwrap().len(), 3, "{saturated:#}");
    disk.set_scheduler("none");
    let lost = tried(&[], 1);
    let says = format!("{} (none)", disk.number());
    assert!(lost["reason"].as_str().unwrap().contains(&says), "{lost:#}");
}

#[test]
fn a_device_that_the_group_may_not_use_is_refused_to_its_copy() {
    let Some(bench) = Bench::with("probe: devices", &[Need::Controller("devices")]) else { return };
    let limited = Limited::new("devices");
    if limited.is_v2 {
        return skip("probe: devices", "on v2 the test of units has a group with a program");
    }
    for (file, value) in
        [("devices.deny", "a"), ("devices.allow", "c 1:3 rwm"), ("devices.allow", "c 1:5 r")]
    {
        limited.set("in", [file, file], value);
    }
    let document = probe(&bench, &limited.inner(), &["--only", "devices"], 0);
    let rules = answer(&document, ["devices.list", "device program"]);
    assert_eq!(rules["verdict"], "enforced", "{rules:#}");
    let seen = rules["measured"][0].as_str().unwrap();
    assert!(seen.contains("/dev/urandom") && !seen.contains("/dev/zero"), "{seen}");
}

#[test]
fn with_inside_the_group_itself_is_tried_by_a_process_that_ends_with_assay() {
    let Some(bench) = Bench::with("probe: inside", &CONTROLLERS.map(Need::Controller)) else {
        return;
    };
    let limited = Limited::new("inside");
    let quota = if limited.is_v2 { "30000 100000" } else { "30000" };
    limited.set("in", QUOTA, quota);
    limited.set("in", CPUS, "0");
    let mut only = "cpu,cpuset".to_owned();
    if !limited.is_v2 {
        limited.set("in", ["devices.deny", ""], "a");
        only += ",devices";
    }
    let inside = ["--only", &only, "--inside"];
    let group = limited.inner();
    let refused = bench.assay(["probe", "--group", &group].iter().chain(&inside));
    refused.assert_code(2);
    assert!(refused.stderr.contains("its own processes are throttled"), "{}", refused.stderr);
    let more = [&inside[..], &["--yes"]].concat();
    let document = probe(&bench, &group, &more, 0);
    let quota = answer(&document, QUOTA);
    assert_ne!(quota["verdict"], "not-enforced", "{quota:#}");
    assert!(quota["measured"].to_string().contains("a probe outside of the group"), "{quota:#}");
    let cpus = answer(&document, CPUS);
    assert_eq!(cpus["verdict"], "enforced", "{cpus:#}");
    assert!(cpus["measured"][0].as_str().unwrap().starts_with("a probe in the group: CPU "));
    if !limited.is_v2 {
        let devices = answer(&document, ["devices.list", ""]);
        assert_eq!(devices["verdict"], "enforced", "{devices:#}");
    }

    let probes = || -> BTreeSet<String> {
        let read = |top: &PathBuf| fs::read_to_string(top.join("in/cgroup.procs")).unwrap();
        let text: String = limited.tops.iter().map(read).collect();
        let own = limited.sleeper.id().to_string();
        text.lines().filter(|pid| *pid != own).map(str::to_owned).collect()
    };
    let mut command = bench.program();
    command.args(["probe", "--group", &group, "-n", "100"]).args(&more);
    let mut assay = Running::start(command, bench.folder(), bench.out());
    assay.wait_until("a probe in the group", |_| !probes().is_empty());
    std::thread::sleep(Duration::from_millis(300));
    for pid in probes() {
        // A process that is killed first for lack of memory may take its group with it.
        let first = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap_or_default();
        assert_ne!(first.trim(), "1000");
    }
    assay.kill();
    // It dies with the program, and this test with its limit of time.
    while !probes().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn in_a_namespace_of_processes_nothing_is_said_of_those_outside() {
    let Some(bench) = Bench::with("probe: namespace", &CONTROLLERS.map(Need::Controller)) else {
        return;
    };
    let limited = Limited::new("namespace");
    limited.set("in", PIDS, "50");
    let probed = |options: &[&str], first: &str| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork"]).args(options);
        command.args(["sh", "-c", &format!("{first} exec \"$0\" \"$@\"")]).arg(bench.executable());
        command.args(["probe", "--group", &limited.inner(), "--only", "pids", "-o", "json"]);
        bench.settle(&mut command);
        bench.finish(command)
    };
    let verdict = |first: &str| {
        let ended = probed(&["--mount-proc"], first);
        ended.assert_code(0);
        let document: Value = serde_json::from_str(&ended.stdout).unwrap();
        answer(&document, PIDS)["verdict"].as_str().unwrap().to_owned()
    };
    // v1 does not list them.
    assert_eq!(verdict(""), if limited.is_v2 { "enforced" } else { "not-provable" });
    let files = limited.tops.iter().map(|top| format!("{}/in/cgroup.procs", top.display()));
    let files: Vec<String> = files.collect();
    let enter = format!("sleep 60 & for file in {}; do echo $! >$file; done;", files.join(" "));
    assert_eq!(verdict(&enter), "enforced");
    let elsewhere = probed(&[], "");
    elsewhere.assert_code(2);
    assert!(elsewhere.stderr.contains("another PID namespace"), "{}", elsewhere.stderr);
}
