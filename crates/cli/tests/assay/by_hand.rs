//! `--explain-steps`: what it prints is run, and does what a run does.

use std::path::Path;
use std::process::{Command, Stdio};

use assay_test_support::{Need, entries};
use serde_json::Value;

use crate::bench::Bench;
use crate::study::shipped_with;

/// Runs the script of a study's only trial. After its set-up, of which every command must succeed, the knobs
/// have the values of the plan and every group has a process; at the end all is as before.
fn assert_works(bench: &Bench, study: &Path, options: &[&str]) {
    let check = |more: &str| {
        let words = ["check", study.to_str().unwrap(), more];
        let ended = bench.assay(words.iter().chain(options));
        ended.assert_code(0);
        ended.stdout
    };
    let plan: Value = serde_json::from_str(&check("-ojson")).unwrap();
    let name = format!("assay-hand-{}", std::process::id());
    let script = check("--explain-steps").replace("assay-by-hand", &name);
    let knobs = plan["trials"][0]["knobs"].as_array().unwrap();
    let of = |knob: &Value| {
        let (group, knob) = (knob["group"].as_str().unwrap(), &knob["knob"]);
        let text = |key: &str| knob[key].as_str().unwrap().to_owned();
        (group.to_owned(), text("file"), text("written"))
    };
    let mut look = String::from("set +e\n");
    for (group, file, _) in knobs.iter().map(of) {
        let path = |file: &str| format!("find /sys/fs/cgroup -path '*/{name}/{group}/{file}'");
        look += &format!("{} -exec cat {{}} + > {group}-{file}\n", path(&file));
        // A workload joins its group in the background.
        look += &format!(
            "for _ in $(seq 100); do {} -exec cat {{}} + > {group}-procs; [ -s {group}-procs ] && break; sleep 0.1; done\n",
            path("cgroup.procs")
        );
    }
    let (set_up, rest) = script.split_once("\n# until").unwrap();
    let script = bench.write("script", &format!("set -e\n{set_up}\n{look}# until{rest}\n"));
    let ran = Command::new("sh")
        .arg(&script)
        .current_dir(bench.folder())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    let read = |name: String| std::fs::read_to_string(bench.path(&name)).unwrap_or_default();
    assert!(!knobs.is_empty());
    for (group, file, written) in knobs.iter().map(of) {
        assert_eq!(read(format!("{group}-{file}")).trim(), written, "{group}, {file}: {errors}");
        assert!(!read(format!("{group}-procs")).trim().is_empty(), "{group} is empty: {errors}");
    }
    // What the shell says of processes that it has ended.
    assert!(errors.lines().all(|line| line == "Terminated"), "{errors}");
    let image = |path: &std::path::PathBuf| path.extension().is_some_and(|kind| kind == "img");
    assert!(!entries(bench.folder()).iter().any(image), "the image is left");
    bench.assert_host_is_as_before("after the script");
}

#[test]
fn the_steps_of_a_study_of_cpus_can_be_typed() {
    let needs = [Need::Tool("fio"), Need::Controller("cpu"), Need::Controller("cpuset")];
    let Some(bench) = Bench::with("steps of a study of CPUs", &needs) else { return };
    assert_works(&bench, Path::new("cpu-weight"), &["--duration", "1s"]);
}

#[test]
fn the_steps_of_a_study_of_disks_can_be_typed() {
    let Some(bench) = Bench::on_host("steps of a study of disks") else { return };
    shipped_with(&bench, "io-weight-job.fio", &[("size=1G", "size=24M\ntime_based")]);
    let study = shipped_with(&bench, "io-weight-job.toml", &[("\"5184 MiB\"", "\"176 MiB\"")]);
    assert_works(&bench, &study, &["--duration", "1s"]);
}
