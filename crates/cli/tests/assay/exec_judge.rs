//! `assay exec --quiet-check` on the real kernel: a command that others disturb is void, with their group's name, and only
//! for the checks that it concerns.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::bench::Bench;
use crate::running::Ended;

/// Keeps one CPU busy for long enough that ticks can be counted.
const SPIN: &str = "timeout 2 sh -c 'while :; do :; done'; true";

fn judged(bench: &Bench, arguments: &[&str]) -> (Ended, Value) {
    let mut command = bench.program();
    command.args(["exec", "--quiet-check", "-ojson"]).args(arguments);
    let ended = bench.finish(command);
    let line = ended.stdout.lines().last().unwrap_or_default();
    let document =
        serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {}", ended.stderr));
    (ended, document)
}

fn check<'d>(document: &'d Value, name: &str) -> &'d Value {
    let checks = document["validity"]["checks"].as_array().unwrap();
    checks.iter().find(|check| check["check"] == name).unwrap()
}

/// A process that keeps CPU 0 busy in a group of its own, gone at the end.
struct Neighbour(Child, PathBuf);

impl Neighbour {
    fn start() -> Option<Self> {
        let mounts =
            ["cpuacct", "cpu,cpuacct", ""].map(|name| PathBuf::from("/sys/fs/cgroup").join(name));
        let mount = mounts.into_iter().find(|mount| {
            mount.join("cpuacct.usage").exists() || mount.join("cgroup.controllers").exists()
        })?;
        let group = mount.join(format!("assay-neighbour-{}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        let script = "echo $$ > \"$0/cgroup.procs\"; while :; do :; done";
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "sh", "-c", script]).arg(&group).stderr(Stdio::null());
        Some(Self(command.spawn().unwrap(), group))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_dir(&self.1);
    }
}

#[test]
fn a_busy_neighbour_makes_a_command_void_and_is_named() {
    let Some(bench) = Bench::alone("exec --quiet-check: a neighbour") else { return };
    let neighbour = Neighbour::start().unwrap();
    let (ended, document) = judged(&bench, &["--place", "cpus=0", "--", "sh", "-c", SPIN]);
    ended.assert_code(3);
    assert_eq!(document["validity"]["verdict"], "void");
    let others = check(&document, "others");
    assert_eq!(others["ok"], false, "{others}");
    let name = neighbour.1.file_name().unwrap().to_str().unwrap();
    assert!(others["evidence"].as_str().unwrap().contains(name), "{others}");

    // Its twin: as much is allowed as there is.
    let wide = ["--within", "100%", "--place", "cpus=0", "--", "sh", "-c", SPIN];
    let (_, document) = judged(&bench, &wide);
    assert_eq!(check(&document, "others")["ok"], true, "{document:#}");
    drop(neighbour);
    bench.assert_host_is_as_before("exec --quiet-check");
}

#[test]
fn a_limit_of_its_own_does_not_make_a_command_void() {
    let Some(bench) = Bench::on_host("exec --quiet-check: its own quota") else { return };
    let (_, document) = judged(&bench, &["--set", "cpu.max=10%", "--", "sh", "-c", SPIN]);
    assert_eq!(check(&document, "quota")["ok"], true, "{document:#}");
    for name in ["length", "others", "steal", "clock", "speed", "heat", "swap"] {
        assert!(!check(&document, name)["evidence"].as_str().unwrap().is_empty(), "{name}");
    }
    let checks = document["validity"]["checks"].as_array().unwrap();
    let is_valid = checks.iter().all(|check| check["ok"] == true);
    assert_eq!(document["validity"]["verdict"], if is_valid { "valid" } else { "void" });
}

#[test]
fn a_short_command_is_void_and_a_failed_one_keeps_its_code() {
    let Some(bench) = Bench::on_host("exec --quiet-check: codes") else { return };
    let (ended, document) = judged(&bench, &["--", "true"]);
    ended.assert_code(3);
    assert_eq!(check(&document, "length")["ok"], false);
    judged(&bench, &["--", "sh", "-c", "exit 7"]).0.assert_code(7);
    let mut command = bench.program();
    command.args(["exec", "--quiet-check", "--", "true"]);
    let ended = bench.finish(command);
    ended.assert_says(&["void: its numbers prove nothing", "FAILED: it ran for 0."]);
    let ended = bench.assay(["exec", "--within", "5%", "--", "true"]);
    ended.assert_code(2);
    bench.assert_host_is_as_before("exec --quiet-check");
}
