//! Runs without root: only groups delegated to a user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;

use assay_host::facts::Hierarchy;
use assay_sys::kernel::Root;
use assay_test_support::{HostSnapshot, entries, own, skip};

use crate::bench::Bench;
use crate::running::json;

pub(crate) const NOBODY: u32 = 65_534;

/// Groups on cgroup v1 owned by user nobody, one in each of these hierarchies.
pub(crate) struct Delegated(Vec<PathBuf>);

impl Delegated {
    fn make(controllers: &[&str]) -> Option<Self> {
        let facts = assay_host::gather(&Root::real()).unwrap();
        let mut groups = Vec::new();
        for name in controllers {
            match facts.cgroup.controllers.get(*name).map(|found| &found.hierarchy) {
                Some(Hierarchy::V1(mount)) => {
                    groups.push(mount.join(format!("assay-test-{}-user", std::process::id())));
                }
                _ => return None,
            }
        }
        for group in &groups {
            fs::create_dir(group).unwrap();
            chown(group, Some(NOBODY), Some(NOBODY)).unwrap();
            for file in entries(group) {
                chown(file, Some(NOBODY), Some(NOBODY)).unwrap();
            }
        }
        Some(Self(groups))
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        for group in &self.0 {
            let _ = fs::remove_dir(group);
        }
    }
}

/// The program as user nobody, with everything that it can write to in `home`.
pub(crate) fn as_nobody(bench: &Bench) -> Command {
    let (home, scripts) = (bench.path("home"), bench.path("nobody"));
    if !home.exists() {
        fs::create_dir(&home).unwrap();
        chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::create_dir(home.join("data")).unwrap();
        chown(home.join("data"), Some(NOBODY), Some(NOBODY)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_assay"), home.join("assay")).unwrap();
        fs::set_permissions(home.join("assay"), fs::Permissions::from_mode(0o755)).unwrap();
        // The home is compared, before and after.
        fs::create_dir(&scripts).unwrap();
        let _script = own::program(&home.join("assay"), &scripts);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(scripts.join("own-assay"));
    bench.settle(&mut command);
    command.env_remove("ASSAY_STATE").env("XDG_STATE_HOME", home.join("state")).current_dir(home);
    command
}

pub(crate) fn study(bench: &Bench, knobs: &str) -> PathBuf {
    let data = bench.path("home/data");
    bench.write(
        "study.toml",
        &format!(
            "title = \"Less than root\"\n[design]\nrepeats = 1\nat_most = \"1 s\"\n\
             [disks.data]\nuse = \"directory\"\npath = \"{}\"\nsize = \"4 MiB\"\n\
             [[groups]]\nname = \"task\"\ncount = 2\nknobs = {{ {knobs} }}\nrun = \"writer\"\n\
             [workloads.writer]\nuse = \"fio\"\nargs = {{ rw = \"randwrite\", bs = \"4k\", \
             size = \"1m\" }}\n[[promises]]\nmeasure = \"cpu.time\"\nis = \"equal\"\n\
             within = \"50 %\"\n",
            data.display()
        ),
    )
}

const KNOBS: &str = "\"pids.max\" = 50, \"memory.max\" = \"64M\", \"cpu.weight\" = [100, 300]";

pub(crate) fn delegated(test: &str, controllers: &[&str]) -> Option<(Bench, Delegated)> {
    let bench = Bench::on_host(test)?;
    let delegated = Delegated::make(controllers);
    if delegated.is_none() {
        skip(test, &format!("cgroup v1 does not serve all of {controllers:?}"));
    }
    Some((bench, delegated?))
}

#[test]
fn a_user_can_use_delegated_groups_and_is_told_what_needs_root() {
    let controllers = ["cpu", "cpuacct", "memory", "pids"];
    let Some((bench, _groups)) = delegated("a user with delegated groups", &controllers) else {
        return;
    };
    let mut host = as_nobody(&bench);
    host.arg("host");
    let shown = bench.finish(host);
    shown.assert_code(0);
    let name = format!("assay-test-{}-user", std::process::id());
    assert!(shown.stdout.contains(&format!("/cpu/{name}")), "{}", shown.stdout);
    for line in ["this is user 65534", "needs root, because no group of"] {
        assert!(shown.stdout.contains(line), "no `{line}` in {}", shown.stdout);
    }
    let before = HostSnapshot::take_with(&[&bench.path("home/data")]);
    let mut run = as_nobody(&bench);
    let out = bench.path("home/run");
    run.args(["run", "--yes"]).arg(study(&bench, KNOBS)).arg("--out").arg(&out);
    bench.finish(run).assert_verdict();
    HostSnapshot::assert_same(&before, "after a user's run");
    let manifest = json(&out.join("manifest.json"));
    assert_eq!(manifest["restored"], true);
    let knobs = manifest["trials"][0]["repeats"][0]["knobs"].as_array().unwrap();
    assert_eq!(knobs.len(), 6, "three knobs of two groups were read back: {knobs:?}");
    assert!(knobs.iter().all(|knob| knob["at_end"]["value"].is_string()), "{knobs:?}");
    assert!(entries(&bench.path("home/state/assay/ledger")).is_empty());
}

/// Running as oneself needs no change of user.
#[test]
fn a_user_may_run_workloads_as_oneself() {
    let controllers = ["cpu", "cpuacct"];
    let Some((bench, _groups)) = delegated("a user's own name", &controllers) else { return };
    let path = study(&bench, "\"cpu.weight\" = [100, 300]");
    let text = fs::read_to_string(&path).unwrap();
    for (name, code) in [("nobody", None), ("65534:65534", None), ("root", Some(4))] {
        let own = format!("use = \"fio\"\nuser = \"{name}\"\n");
        fs::write(&path, text.replace("use = \"fio\"\n", &own)).unwrap();
        let mut run = as_nobody(&bench);
        let out = bench.path("home/run");
        run.args(["run", "--yes"]).arg(&path).arg("--out").arg(&out);
        let ended = bench.finish(run);
        match code {
            None => ended.assert_verdict(),
            Some(code) => ended.assert_code(code),
        }
        fs::remove_dir_all(&out).unwrap();
    }
}

/// Ungrouped workloads still need a group, by which they are found at the end of the run.
#[test]
fn ungrouped_workloads_of_a_user_need_a_delegated_group() {
    let controllers = ["cpu", "cpuacct"];
    let test = "a user's workload outside";
    let Some((bench, groups)) = delegated(test, &controllers) else { return };
    let text = crate::ends::BESIDE.replace("60 s", "1 s");
    let path = bench.write("beside.toml", &text);
    let run = |name: &str| {
        let mut run = as_nobody(&bench);
        run.args(["run", "--yes"]).arg(&path).arg("--out").arg(bench.path(name));
        bench.finish(run)
    };
    run("home/with").assert_verdict();
    let left = crate::running::processes_in(bench.folder());
    assert!(left.is_empty(), "{left:?}");
    drop(groups);
    let refused = run("home/without");
    refused.assert_code(4);
    refused.assert_says(&["needs root, because no group of", "chown -R", "nothing was touched"]);
    assert!(crate::running::processes_in(bench.folder()).is_empty());
}

#[test]
fn groups_that_were_not_delegated_are_refused_by_name() {
    let controllers = ["cpu", "cpuacct"];
    let Some((bench, _groups)) = delegated("a user without memory groups", &controllers) else {
        return;
    };
    let mut run = as_nobody(&bench);
    let before = HostSnapshot::take_with(&[&bench.path("home")]);
    run.args(["run", "--yes"]).arg(study(&bench, KNOBS)).arg("--out").arg("run");
    let ended = bench.finish(run);
    ended.assert_code(4);
    ended.assert_says(&[
        "`memory.max` cannot be set: needs root, because no group of",
        "`pids.max` cannot be set",
        "nothing was touched",
    ]);
    assert!(!ended.stderr.contains("cpu.weight"), "{}", ended.stderr);
    HostSnapshot::assert_same(&before, "after the refusal");
}

#[test]
fn conform_of_a_user_runs_delegated_cases_and_gives_reasons_for_others() {
    let controllers = ["pids"];
    let Some((bench, _groups)) = delegated("a user's conform", &controllers) else { return };
    let mut conform = as_nobody(&bench);
    let before = HostSnapshot::take_with(&[&bench.path("home/data")]);
    conform.args(["conform", "core", "pids", "devices", "hugetlb", "-ojson"]);
    let ended = bench.finish(conform);
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let mut kept = 0;
    for case in document["cases"].as_array().unwrap() {
        match case["verdict"].as_str().unwrap() {
            "kept" => kept += 1,
            "not-available" => assert!(!case["reason"].as_str().unwrap().is_empty(), "{case:#}"),
            other => panic!("{other}: {case:#}"),
        }
    }
    assert!(kept >= 7, "all cases of pids can be judged: {document:#}");
    assert!(document.to_string().contains("needs root, because"), "{document:#}");
    ended.assert_code(0);
    HostSnapshot::assert_same(&before, "after a user's conform");
}
