//! The job of a fleet, submitted to fake Slurm commands and started by hand.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::bench::Bench;
use crate::running::json;
use crate::study::Weights;

/// Submits a small study for this disk to one node, as job 17; returns the options that Slurm got.
fn submit(bench: &Bench, disk: &str) -> String {
    fs::create_dir(bench.path("bin")).unwrap();
    let submitted = bench.path("submitted").display().to_string();
    let sinfo =
        "case \"$*\" in *--version*) echo slurm-wlm 22.05.8;; *) echo 'n1|h1|idle|none';; esac";
    for (name, text) in [
        ("sinfo", sinfo.to_owned()),
        ("scontrol", "exit 0".to_owned()),
        ("squeue", "exit 0".to_owned()),
        ("sbatch", format!("echo \"$*\" >'{submitted}'; echo 17")),
    ] {
        let program = bench.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    bench.write("small.toml", &Weights::small().text());
    let mut command = bench.program();
    command.args(["fleet", "run", "small.toml", "--disk", disk, "--detach", "--out", "fleet"]);
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env_remove("SLURM_CONF");
    bench.finish(command).assert_code(0);
    fs::read_to_string(submitted).unwrap()
}

/// No text is parsed for it: the run hands its errors to the task as a document.
#[test]
fn the_reason_of_a_failed_run_comes_from_its_document() {
    let bench = Bench::aside();
    let options = submit(&bench, "block:/dev/assay-no-such-disk");
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
