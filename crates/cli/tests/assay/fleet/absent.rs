//! Missing Slurm, Slurm without configuration, and folders that are not a fleet.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::bench::Bench;

/// An empty entry of PATH means the working directory, whose files may belong to another user.
#[test]
fn relative_entries_of_path_are_not_searched_for_slurm() {
    let bench = Bench::aside();
    for name in ["scontrol", "sbatch"] {
        let program = bench.write(name, "#!/bin/sh\n: > started\n");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for path in ["", ":/nowhere", "."] {
        let mut command = bench.program();
        command.args(["fleet", "run", "--yes", "cpu-weight", "--nodes", "2"]).env("PATH", path);
        let ended = bench.finish(command);
        ended.assert_code(4);
        ended.assert_says(&["Slurm is not installed here", "slurm-client"]);
        let made = ["started", "runs"].map(|name| bench.path(name).exists());
        assert_eq!(made, [false; 2], "PATH={path:?}");
    }
}

#[test]
fn a_slurm_without_configuration_is_named_with_what_to_set() {
    if super::Cluster::why_not().is_some() {
        assay_test_support::skip("a Slurm without configuration", "Slurm is not installed");
        return;
    }
    let bench = Bench::aside();
    let mut command = bench.program();
    command
        .args(["fleet", "run", "--yes", "cpu-weight", "--nodes", "2"])
        .env("SLURM_CONF", bench.path("none.conf"));
    let ended = bench.finish(command);
    ended.assert_code(4);
    ended.assert_says(&["SLURM_CONF"]);
    assert!(!bench.path("runs").exists());
}

#[test]
fn a_folder_that_is_not_a_fleet_is_refused() {
    let bench = Bench::aside();
    for command in ["collect", "resume"] {
        let ended = bench.assay(["fleet", command, "."]);
        ended.assert_code(2);
        ended.assert_says(&["fleet.json"]);
    }
}
