//! `assay audit` on this host: it changes nothing, works as any user, and finds a dead weight.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use assay_test_support::{Need, TestLoop, skip};
use serde_json::Value;

use crate::bench::Bench;

const NOBODY: u32 = 65_534;

fn document(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// System calls that change something, and opening for writing.
fn changes(line: &str) -> bool {
    const CALLS: [&str; 17] = [
        "mkdir", "rmdir", "unlink", "rename", "link(", "linkat(", "symlink", "mknod", "chmod",
        "chown", "truncate", "mount", "setns", "unshare", "bpf(", "ptrace", "execve",
    ];
    let call =
        line.trim_start_matches(|sign: char| sign.is_ascii_digit() || " []pid".contains(sign));
    let opens = call.starts_with("open") || call.starts_with("creat");
    let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"];
    let kills = ["kill(", "tkill(", "tgkill(", "pidfd_send_signal("];
    opens && writes.iter().any(|flag| call.contains(flag))
        || CALLS.iter().any(|name| call.starts_with(name))
        || kills.iter().any(|name| call.starts_with(name))
}

#[test]
fn an_audit_writes_starts_and_signals_nothing() {
    let trace = Path::new("/usr/bin/strace");
    if !trace.exists() {
        return skip("the system calls of an audit", "strace is not installed");
    }
    let bench = Bench::aside();
    let log = bench.path("calls");
    let mut command = Command::new(trace);
    bench.settle(&mut command);
    command.args(["-f", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_assay")).args(["audit", "--json"]);
    assert_eq!(document(&mut command)["schema"], 1);
    let calls = fs::read_to_string(log).unwrap();
    assert!(calls.contains("openat("), "{calls}");
    // The first call is strace starting the program itself.
    let wrong: Vec<&str> = calls.lines().skip(1).filter(|line| changes(line)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_audit_that_watches_changes_nothing_but_its_own_programs() {
    let test = "the system calls of an audit that watches";
    let trace = Path::new("/usr/bin/strace");
    if !trace.exists() {
        return skip(test, "strace is not installed");
    }
    let Some(bench) = Bench::busy_with(test, &[Need::Controller("cpu")]) else { return };
    let log = bench.path("calls");
    let mut command = Command::new(trace);
    bench.settle(&mut command);
    command.args(["-f", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_assay"));
    command.args(["audit", "--json", "--for", "1s"]);
    assert!(document(&mut command)["contended"]["seconds"].as_f64().unwrap() >= 1.0);
    let calls = fs::read_to_string(log).unwrap();
    assert!(calls.contains("bpf(BPF_PROG_LOAD"), "{calls}");
    let is_wrong = |line: &&str| changes(line) && !line.contains(" bpf(");
    let wrong: Vec<&str> = calls.lines().skip(1).filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn calls_that_change_something_are_recognised() {
    assert!(changes("123   openat(AT_FDCWD, \"/x\", O_WRONLY|O_CREAT, 0666) = 3"));
    assert!(changes("mkdir(\"/x\", 0777) = 0") && changes("[pid 12] kill(3, SIGTERM) = 0"));
    assert!(!changes("123   openat(AT_FDCWD, \"/x\", O_RDONLY|O_CLOEXEC) = 3"));
}

#[test]
fn any_user_may_audit() {
    let bench = Bench::aside();
    let mut command = bench.program();
    command.args(["audit", "--json"]);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let audit = document(&mut command);
    assert!(audit["groups"].as_u64().unwrap() > 0, "{audit:#}");
    assert!(audit["kernel"]["value"].is_string());
}

#[test]
fn a_snapshot_can_be_judged_elsewhere_and_anything_else_is_refused() {
    let bench = Bench::aside();
    bench.assay(["audit", "--snapshot", "host.json"]).assert_code(0);
    let ended = bench.assay(["audit", "host.json"]);
    ended.assert_code(0);
    assert!(ended.stdout.contains("Linux "), "{}", ended.stdout);
    bench.write("other.json", "{\"schema\": 1}");
    let ended = bench.assay(["audit", "other.json"]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("cannot use other.json"), "{}", ended.stderr);
}

#[test]
fn a_rule_is_explained_by_its_code() {
    let bench = Bench::aside();
    let ended = bench.assay(["audit", "--explain", "a-ancestor"]);
    ended.assert_code(0);
    assert!(ended.stdout.contains("effective_protection"), "{}", ended.stdout);
    let ended = bench.assay(["audit", "--explain", "A-NONE"]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("A-SCHEDULER"), "{}", ended.stderr);
}

/// Groups of the test, each with a process that holds a file open; all gone when it goes out of scope.
struct Groups(Vec<(PathBuf, Child)>);

impl Groups {
    fn make(parent: &Path, node: &Path) -> Self {
        let mut groups = Vec::new();
        for name in ["a", "b", "c", "d"] {
            let group = parent.join(format!("assay-audit-{}-{name}", std::process::id()));
            fs::create_dir(&group).unwrap();
            let child = Command::new("sleep")
                .arg("60")
                .stdin(fs::File::open(node).unwrap())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
            groups.push((group, child));
        }
        Self(groups)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for (group, child) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
            let _ = fs::remove_dir(group);
        }
    }
}

/// The groups of this test in which a code fires.
fn fires(bench: &Bench, code: &str) -> BTreeSet<String> {
    let audit = document(bench.program().args(["audit", "--json"]));
    let own = format!("/assay-audit-{}-", std::process::id());
    let findings = audit["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["code"] == code)
        .filter_map(|finding| finding["group"].as_str()?.strip_prefix(&own).map(str::to_owned))
        .collect()
}

#[test]
fn a_weight_on_a_disk_without_bfq_is_found_and_silent_under_bfq() {
    let test = "an audit of four groups";
    let parent = Path::new("/sys/fs/cgroup/blkio");
    let needs = [Need::Loop, Need::Bfq, Need::Controller("io")];
    let Some(bench) = Bench::busy_with(test, &needs) else { return };
    if !parent.join("cgroup.procs").exists() {
        return skip(test, "blkio is not on a v1 hierarchy below /sys/fs/cgroup");
    }
    {
        let disk = TestLoop::attach(&bench.path("image"), 16);
        let scheduler = format!("/sys/block/{}/queue/scheduler", disk.name());
        let groups = Groups::make(parent, &disk.node());
        fs::write(groups.0[2].0.join("blkio.bfq.weight"), "800").unwrap();
        fs::write(&scheduler, "none").unwrap();
        assert_eq!(fires(&bench, "A-SCHEDULER"), BTreeSet::from(["c".to_owned()]));
        fs::write(&scheduler, "bfq").unwrap();
        assert_eq!(fires(&bench, "A-SCHEDULER"), BTreeSet::new());
    }
    fs::remove_file(bench.path("image")).unwrap();
    bench.assert_host_is_as_before(test);
}
