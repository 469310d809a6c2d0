//! The job of a fleet, submitted to fake Slurm commands and started by hand.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use assay_test_support::Need;
use serde_json::Value;

use crate::bench::Bench;
use crate::running::json;
use crate::study::Weights;

/// Submits a study to one node, as job 17; returns the options that Slurm got.
fn submit(bench: &Bench, study: &[&str]) -> String {
    fs::create_dir(bench.path("bin")).unwrap();
    let submitted = bench.path("submitted").display().to_string();
    let sinfo = "case \"$*\" in *--version*) echo slurm-wlm 22.05.8;; \
                 *) echo \"n1|$(uname -n)|idle|none\";; esac";
    for (name, text) in [
        ("sinfo", sinfo.to_owned()),
        ("scontrol", "exit 0".to_owned()),
        ("squeue", "exit 0".to_owned()),
        ("sbatch", format!("echo \"$*\" >'{submitted}'; echo 17")),
    ] {
        let program = bench.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = bench.program();
    command.args(["fleet", "run"]).args(study).args(["--detach", "--out", "fleet"]);
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env_remove("SLURM_CONF");
    bench.finish(command).assert_code(0);
    fs::read_to_string(submitted).unwrap()
}

/// No text is parsed for it: the run hands its errors to the task as a document.
#[test]
fn the_reason_of_a_failed_run_comes_from_its_document() {
    let bench = Bench::aside();
    bench.write("small.toml", &Weights::small().text());
    let options = submit(&bench, &["small.toml", "--disk", "block:/dev/assay-no-such-disk"]);
    let fleet = bench.path("fleet");
    let script = fleet.join("job-1.sh").display().to_string();
    let log = fleet.join("log/%j_0.txt").display().to_string();
    let expected = format!("--parsable --hold --nodelist=n1 --output={log} {script} 0\n");
    assert_eq!(options, expected);

    let mut command = Command::new("sh");
    bench.settle(&mut command);
    command.args([&script, "0"]).env("SLURM_JOB_ID", "17").env("TMPDIR", bench.folder());
    bench.finish(command).assert_code(4);
    let task = fleet.join("tasks/00/job-17");
    let errors = json(&task.join("errors.json"));
    let first = errors["errors"][0].as_str().unwrap();
    assert!(first.contains("assay-no-such-disk"), "{errors}");
    assert_eq!((&errors["schema"], &errors["code"]), (&1.into(), &4.into()));
    let record = json(&task.join("task.json"));
    assert_eq!(record["why"].as_str(), first.lines().next(), "{record}");
    assert_eq!((&record["code"], &record["restored"]), (&4.into(), &true.into()), "{record}");
    let left = assay_test_support::entries(bench.folder());
    let left: Vec<_> =
        left.iter().filter(|path| path.to_string_lossy().contains("program.")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The hosts of this fleet share no folder: its study is run by hand, and the run folder copied. It is known by its
/// plan and its seed, whatever the copy is called.
#[test]
fn a_run_that_was_copied_from_its_host_is_the_task_of_its_fleet() {
    let Some(bench) = Bench::with("a run copied from its host", &[Need::Controller("cpu")]) else {
        return;
    };
    let study = ["cpu-weight", "--set", "groups=2", "--repeats", "1", "--at-most", "1s"];
    submit(&bench, &study);
    let arguments = json(&bench.path("fleet/fleet.json"))["arguments"].clone();
    let words: Vec<&str> = arguments.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let run = |seed: &str, copy: &str, more: &[&str]| {
        let own = ["--seed", seed, "--out", copy];
        bench.assay([&["run"], &words[..], &own, more].concat()).assert_verdict();
    };
    run("1", "host/of-the-task", &[]);
    run("7", "host/of-no-task", &[]);
    run("1", "host/other-plan", &["--stop", "at_most"]);
    fs::create_dir(bench.path("copies")).unwrap();
    let copy =
        Command::new("cp").arg("-r").args(["host", "copies"].map(|name| bench.path(name))).status();
    assert!(copy.unwrap().success());
    let ended = bench.assay(["fleet", "collect", "fleet", "--collect-from", "copies", "--json"]);
    ended.assert_verdict();
    ended.assert_says(&["taken: 1 run", "of-no-task: no task of this fleet has the seed 7"]);
    ended.assert_says(&["other-plan: it is a run of another plan"]);
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&verdict["hosts"][0]["node"], &verdict["hosts"][0]["state"]),
        (&"n1".into(), &"ended".into())
    );
    assert!(bench.path("fleet/tasks/00/job-17/run/verdict.json").exists());
    // The same copies are a fleet without Slurm, too.
    let ended = bench.assay(["fleet", "collect", "new", "--collect-from", "copies", "--json"]);
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(verdict["hosts"].as_array().unwrap().len(), 1, "one host, one run: {verdict}");
    bench.assay(["fleet", "resume", "new"]).assert_code(2);
    bench.assay(["fleet", "cancel", "new"]).assert_code(2);
    bench.assert_host_is_as_before("after runs by hand");
}
