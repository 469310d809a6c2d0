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

/// System calls that change something, ask others, and opening for writing.
fn changes(line: &str) -> bool {
    const CALLS: [&str; 20] = [
        "mkdir", "rmdir", "unlink", "rename", "link(", "linkat(", "symlink", "mknod", "chmod",
        "chown", "truncate", "mount", "setns", "unshare", "bpf(", "ptrace", "execve", "socket",
        "connect", "send",
    ];
    let call =
        line.trim_start_matches(|sign: char| sign.is_ascii_digit() || " []pid".contains(sign));
    let opens = call.starts_with("open") || call.starts_with("creat");
    let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"];
    let kills = ["kill(", "tkill(", "tgkill(", "pidfd_send_signal("];
    opens && writes.iter().any(|flag| call.contains(flag))
        // A thread that opens files of its own.
        || CALLS.iter().any(|name| call.starts_with(name)) && !call.starts_with("unshare(CLONE_FILES)")
        || kills.iter().any(|name| call.starts_with(name))
}

#[test]
fn an_audit_writes_starts_and_signals_nothing() {
    let trace = Path::new("/usr/bin/strace");
    if !trace.exists() {
        return skip("the system calls of an audit", "strace is not installed");
    }
    let bench = Bench::aside();
    bench.assay(["audit", "--snapshot", "before.json"]).assert_code(0);
    bench.write("none.service", "[Service]\nCPUWeight=200\n");
    for options in [
        &[][..],
        &["diff", "before.json"],
        &["--manifest", "none.service"],
        &["self"],
        &["watch", "--for", "1s"],
    ] {
        only_reads(&bench, trace, &[], &[&["audit"], options].concat(), "");
    }
    // What somebody runs who trusts nobody's program with more.
    if rustix::process::geteuid().is_root() {
        let nobody = ["-u", "nobody"];
        only_reads(&bench, trace, &nobody, &["audit"], "");
        let theirs = bench.path("theirs");
        fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(NOBODY), Some(NOBODY)).unwrap();
        let snapshot = ["audit", "--snapshot", "theirs/snapshot"];
        only_reads(&bench, trace, &nobody, &snapshot, "");
        assert!(theirs.join("snapshot").is_file());
        only_reads(&bench, trace, &[], &["fairness", "--for", "1s"], "bpf(");
    }
}

/// `own` is the call by which it loads its own programs, if it does.
fn only_reads(bench: &Bench, trace: &Path, user: &[&str], words: &[&str], own: &str) {
    let log = bench.path("calls");
    let mut command = Command::new(trace);
    bench.settle(&mut command);
    command.args(user).args(["-f", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_assay"));
    command.args(words).arg("-ojson");
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    // 1: a manifest, or a host that others change meanwhile, differs.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {errors}");
    let calls = fs::read_to_string(log).unwrap();
    assert!(calls.contains("openat(") && calls.contains(own), "{calls}");
    // The first call is strace starting the program itself.
    // A snapshot is written beside its place, and renamed.
    let is_wrong = |line: &&str| {
        let is_own = !own.is_empty() && line.contains(own);
        changes(line) && !is_own && !line.contains("\"snapshot\"") && !line.contains("\".snapshot.")
    };
    let wrong: Vec<&str> = calls.lines().skip(1).filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{words:?}: {wrong:#?}");
}

#[test]
fn calls_that_change_something_are_recognised() {
    assert!(changes("123   openat(AT_FDCWD, \"/x\", O_WRONLY|O_CREAT, 0666) = 3"));
    assert!(changes("mkdir(\"/x\", 0777) = 0") && changes("[pid 12] kill(3, SIGTERM) = 0"));
    assert!(changes("123   socket(AF_UNIX, SOCK_STREAM, 0) = 3"));
    assert!(!changes("123   openat(AT_FDCWD, \"/x\", O_RDONLY|O_CLOEXEC) = 3"));
}

#[test]
fn a_snapshot_can_be_judged_elsewhere_and_anything_else_is_refused() {
    let bench = Bench::aside();
    bench.assay(["audit", "--snapshot", "host.json", "--anonymous"]).assert_code(0);
    let text = fs::read_to_string(bench.path("host.json")).unwrap();
    let snapshot: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(snapshot["machine"]["name"]["value"], "host");
    bench.assay(["audit", "--anonymous"]).assert_code(2);
    let ended = bench.assay(["audit", "host.json"]);
    ended.assert_code(0);
    assert!(ended.stdout.contains("Linux "), "{}", ended.stdout);
    bench.write("other.json", "{\"schema\": 1}");
    let ended = bench.assay(["audit", "other.json"]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("cannot use other.json"), "{}", ended.stderr);
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
    let audit = document(bench.program().args(["audit", "-ojson"]));
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
    let Some(bench) = Bench::with(test, &needs) else { return };
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

/// A group of its own in the hierarchy of cpu, with the file of its weight; removed when it goes out of scope.
pub(crate) struct Weighted(PathBuf, &'static str);

impl Weighted {
    pub(crate) fn make() -> Option<Self> {
        let found = [("/sys/fs/cgroup/cpu", "cpu.shares"), ("/sys/fs/cgroup", "cpu.weight")];
        let (parent, file) = found.into_iter().find(|(parent, file)| {
            let enabled = fs::read_to_string(Path::new(parent).join("cgroup.subtree_control"));
            let is_v1 = *file == "cpu.shares" && Path::new(parent).join(file).exists();
            is_v1 || enabled.is_ok_and(|names| names.split_whitespace().any(|name| name == "cpu"))
        })?;
        let group = Path::new(parent).join(format!("assay-audit-{}-w", std::process::id()));
        fs::create_dir(&group).ok()?;
        Some(Self(group, file))
    }

    /// Has another process write the file.
    pub(crate) fn set(&self, value: &str) {
        let line = format!("echo {value} > {}/{}; sleep 0.3", self.0.display(), self.1);
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }

    /// The name of the file of its weight.
    pub(crate) fn file(&self) -> &'static str {
        self.1
    }

    fn path(&self) -> String {
        format!("/{}", self.0.file_name().unwrap().to_str().unwrap())
    }
}

impl Drop for Weighted {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_change_is_found_since_a_snapshot_and_while_it_happens_with_its_writer() {
    let test = "changes of a setting";
    let Some(bench) = Bench::with(test, &[Need::Controller("cpu")]) else { return };
    let Some(group) = Weighted::make() else {
        return skip(test, "no group can be made in a hierarchy of cpu");
    };
    bench.assay(["audit", "--snapshot", "before.json"]).assert_code(0);
    let mut command = bench.program();
    command.args(["audit", "watch", "-ojson", "--for", "6s", "--interval", "500ms"]);
    let watch = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    group.set("333");
    let ended = watch.wait_with_output().unwrap();
    let text = String::from_utf8(ended.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let own: Vec<&Value> = lines.iter().filter(|line| line["group"] == group.path()).collect();
    assert_eq!(own.len(), 1, "{text}");
    assert_eq!((&own[0]["kind"], &own[0]["to"]), (&"change".into(), &"333".into()), "{text}");
    if rustix::process::geteuid().is_root() {
        assert_eq!(own[0]["written_by"]["value"][0]["name"], "sh", "{text}");
    }
    let summary = lines.last().unwrap();
    assert_eq!((&summary["kind"], ended.status.code()), (&"summary".into(), Some(0)));

    let drift = bench.assay(["audit", "diff", "-ojson", "before.json"]);
    drift.assert_code(1);
    let drift: Value = serde_json::from_str(&drift.stdout).unwrap();
    let changes = drift["changes"].as_array().unwrap().iter();
    let own: Vec<&Value> = changes.filter(|one| one["group"] == group.path()).collect();
    assert_eq!((own.len(), &own[0]["to"]), (1, &"333".into()), "{drift:#}");

    bench.write("w.service", "[Service]\nCPUWeight=200\n");
    let path = group.path();
    let held_against = ["audit", "--manifest", "w.service", "--group", path.as_str()];
    bench.assay(held_against).assert_code(1);
    group.set(if group.file() == "cpu.shares" { "2048" } else { "200" });
    let ended = bench.assay(held_against);
    ended.assert_code(0);
    assert!(ended.stdout.contains("1 kept, 0 differ"), "{}", ended.stdout);
}

#[test]
fn a_page_of_an_audit_loads_nothing_and_escapes_names() {
    let bench = Bench::aside();
    bench.assay(["audit", "--snapshot", "host.json"]).assert_code(0);
    let text = fs::read_to_string(bench.path("host.json")).unwrap();
    let mut snapshot: Value = serde_json::from_str(&text).unwrap();
    snapshot["machine"]["name"]["value"] = "<script>alert(1)</script>".into();
    bench.write("host.json", &snapshot.to_string());
    bench.assay(["audit", "host.json", "--report", "page.html"]).assert_code(0);
    let page = fs::read_to_string(bench.path("page.html")).unwrap();
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert") && !page.contains("src=\"http"));
    assert!(page.contains("Content-Security-Policy") && page.trim_end().ends_with("</html>"));
}

#[test]
fn any_user_may_audit() {
    let bench = Bench::aside();
    let mut command = bench.program();
    command.args(["audit", "-ojson"]);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let audit = document(&mut command);
    assert!(audit["groups"].as_u64().unwrap() > 0, "{audit:#}");
}
