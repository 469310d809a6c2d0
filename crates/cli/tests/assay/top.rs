//! `assay top` with a command under limits, and its filters.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::Bench;
use crate::running::Running;

/// A command under limits that creates a file when it is ready, then waits.
fn limited(bench: &Bench) -> Running {
    let mut command = bench.program();
    let script = "touch ready; sleep 60 & sleep 60";
    let limits = ["--set", "memory.max=48M", "--set", "pids.max=77"];
    command.arg("exec").args(limits).args(["--", "sh", "-c", script]);
    let mut run = Running::start(command, bench.folder(), bench.out());
    let ready = bench.path("ready");
    run.wait_until("the command to be ready", |_| ready.exists());
    run
}

/// Runs `assay top` while another program uses the output files of [`Bench::assay`].
fn groups(bench: &Bench, arguments: &[&str]) -> (i32, String, String) {
    let output = bench.program().arg("top").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_group_is_listed_with_its_processes_knobs_and_use() {
    let Some(bench) = Bench::on_host("groups beside exec") else { return };
    let run = limited(&bench);
    let (code, text, _) = groups(&bench, &["-ojson"]);
    assert_eq!(code, 0);
    let document: Value = serde_json::from_str(&text).unwrap();
    let all = document["groups"].as_array().unwrap();
    assert_eq!(all[0]["path"], "/");
    // Other tests have groups of `exec`, too.
    let says = |group: &Value, value: &str| {
        let mut knobs = group["knobs"].as_array().unwrap().iter();
        knobs.any(|knob| knob["value"] == value)
    };
    let ours = all.iter().find(|group| says(group, "50331648") && says(group, "77"));
    let ours = ours.unwrap_or_else(|| panic!("{text}"));
    assert!(ours["path"].as_str().unwrap().contains("assay-exec-"), "{ours:#}");
    assert_eq!(ours["processes"].as_array().unwrap().len(), 3, "{ours:#}");
    assert_eq!(ours["counts"]["pids"]["value"], 3);
    assert!(ours["rates"]["cpus"]["value"].as_f64() < Some(0.5), "{ours:#}");

    let path = ours["path"].as_str().unwrap();
    let (code, text, _) = groups(&bench, &["--populated", "--depth", "1", "--sort", "processes"]);
    assert_eq!(code, 0);
    let row = text.lines().find(|line| line.starts_with(path)).unwrap_or_default();
    assert!(row.contains(" 3 "), "a line of its own with its whole path:\n{text}");
    assert!(!row.contains("max_usage"), "a counter is no setting: {row}");
    let (code, text, _) = groups(&bench, &["--group", path]);
    assert_eq!(code, 0);
    let row = text.lines().find(|line| line.starts_with("/assay")).unwrap();
    assert!(row.contains("=50331648") && row.contains("pids.max=77"), "{text}");
    run.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    run.signal(Signal::TERM);
    run.end(Duration::from_secs(30)).assert_code(143);
    bench.assert_host_is_as_before("groups beside exec");
}
