//! `assay fleet cancel` with fake Slurm commands that record their arguments.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::geteuid;
use serde_json::json;

use crate::bench::Bench;
use crate::running::Ended;

/// A fleet of two foreign jobs whose tasks have all ended.
fn fleet(bench: &Bench) {
    let document = json!({
        "schema": 2, "assay": "", "study": "", "title": "", "question": null, "command": [],
        "started_at": "", "plan": "", "seed": 1, "tasks": 0, "jobs": [17, 18],
    });
    fs::create_dir(bench.path("fleet")).unwrap();
    bench.write("fleet/fleet.json", &document.to_string());
    fs::create_dir(bench.path("bin")).unwrap();
    let called = bench.path("called").display().to_string();
    for (name, text) in [
        ("scontrol", "exit 0".to_owned()),
        ("squeue", "exit 0".to_owned()),
        ("scancel", format!("echo \"$*\" >>'{called}'")),
    ] {
        let program = bench.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn cancel(bench: &Bench, more: &[&str], caller: Option<&str>) -> Ended {
    let mut command = bench.program();
    command.args(["fleet", "cancel", "fleet"]).args(more).env("PATH", bench.path("bin"));
    command.env_remove("SLURM_CONF").env_remove("SUDO_UID").env_remove("SUDO_GID");
    if let Some(caller) = caller {
        command.env("SUDO_UID", caller).env("SUDO_GID", caller);
    }
    bench.finish(command)
}

/// The calls of scancel since the last check.
fn calls(bench: &Bench) -> Vec<String> {
    let text = fs::read_to_string(bench.path("called")).unwrap_or_default();
    let _ = fs::remove_file(bench.path("called"));
    text.lines().map(str::to_owned).collect()
}

/// Job numbers that another user has written into a folder cancel nothing.
#[test]
fn a_fleet_that_others_may_change_cancels_no_job() {
    let bench = Bench::aside();
    fleet(&bench);
    let open = |mode| {
        fs::set_permissions(bench.path("fleet"), fs::Permissions::from_mode(mode)).unwrap();
    };
    open(0o777);
    let ended = cancel(&bench, &[], None);
    ended.assert_code(4);
    ended.assert_says(&["mode 0777", "--allow-shared-dir"]);
    assert_eq!(calls(&bench), [""; 0]);
    cancel(&bench, &["--allow-shared-dir"], None).assert_code(0);
    assert_eq!(calls(&bench).len(), 2);
}

/// As root it could cancel a foreign job that now has the number.
#[test]
fn a_fleet_cancels_the_jobs_of_its_own_users_alone() {
    let bench = Bench::aside();
    fleet(&bench);
    let expected = |user: u32| {
        [
            format!("--user={user} --quiet --state=PENDING 17 18"),
            format!("--user={user} --quiet --batch --signal=TERM --state=RUNNING 17 18"),
        ]
    };
    cancel(&bench, &[], None).assert_code(0);
    let own = geteuid().as_raw();
    assert_eq!(calls(&bench), expected(own));
    if geteuid().is_root() {
        cancel(&bench, &[], Some("65534")).assert_code(0);
        let mut called = calls(&bench);
        called.sort();
        let mut both = [expected(own), expected(65534)].concat();
        both.sort();
        assert_eq!(called, both);
    }
}

/// scancel --quiet fails without a message on jobs that Slurm has forgotten.
#[test]
fn a_forgotten_job_keeps_no_other_from_being_cancelled() {
    let bench = Bench::aside();
    fleet(&bench);
    let called = bench.path("called").display().to_string();
    let fails = |message: &str| {
        let text = format!("#!/bin/sh\necho \"$*\" >>'{called}'\n{message}\nexit 1\n");
        bench.write("bin/scancel", &text);
    };
    fails("");
    cancel(&bench, &[], None).assert_code(0);
    let calls = calls(&bench).join(" ");
    assert!(calls.contains("17") && calls.contains("18"), "{calls}");
    fails("echo 'scancel: error: Kill job error on job id 17: Access/permission denied' >&2");
    let ended = cancel(&bench, &[], None);
    ended.assert_code(4);
    ended.assert_says(&["Access/permission denied"]);
}
