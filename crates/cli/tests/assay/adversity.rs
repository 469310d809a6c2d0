//! Errors around a run: missing privileges, no space for the ledger, damaged and foreign ledgers,
//! groups that others use. Each is reported, with exit code 4 if nothing was
//! changed and 6 if something is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assay_test_support::{HostSnapshot, entries, own, skip};
use rustix::process::Signal;

use crate::bench::Bench;
use crate::halt::{Moment, run_until};
use crate::own_device::Mounted;
use crate::running::Running;
use crate::study::Weights;

/// The program started by the command `rights`, which drops privileges first.
fn without_rights(bench: &Bench, rights: &[&str], study: &Path) -> Command {
    let mut command = Command::new(rights[0]);
    command.args(&rights[1..]).arg(bench.executable());
    bench.settle(&mut command);
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(bench.out());
    command
}

#[test]
fn a_container_without_rights_is_refused_and_nothing_is_changed() {
    let Some(bench) = Bench::on_host("a container without rights") else { return };
    let study = bench.write("study.toml", &Weights::small().text());
    let read_only = "for m in /sys $(grep -o '/sys/fs/cgroup[^ ]*' /proc/mounts); do \
                     mount -o remount,bind,ro $m; done; exec \"$@\"";
    let namespaces = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--cgroup"];
    let drop_all = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];
    let user = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork"];
    let containers: [(&[&[&str]], &str); 2] = [
        (&[&namespaces, &["sh", "-c", read_only, "sh"], &drop_all], "root without CAP_SYS_ADMIN"),
        (&[&user, &["sh", "-c", read_only, "sh"]], "root of a user namespace"),
    ];
    for (parts, says) in containers {
        let rights: Vec<&str> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let ended = bench.finish(without_rights(&bench, &rights, &study));
        ended.assert_code(4);
        ended.assert_says(&["needs root, because", says, "nothing was touched"]);
        assert!(!bench.out().exists(), "{says}");
        bench.assert_host_is_as_before(says);
    }
}

#[test]
fn a_disk_that_fills_up_under_the_ledger_ends_a_run_and_leaves_nothing() {
    let Some(bench) = Bench::on_host("a full disk for the ledger") else { return };
    let state = Mounted::tmpfs(bench.path("small"), 1);
    let before = HostSnapshot::take();
    let study = Weights { at_most: "1 s", ..Weights::small() };
    let mut command = bench.run_command(&bench.write("study.toml", &study.text()));
    // A page of the file system may have space for the entries of the first repeats.
    command.args(["--repeats", "20"]).env("ASSAY_STATE", &state.at);
    let mut run = Running::start(command, bench.folder(), bench.out());
    run.wait_until("the window", |run| run.says("run"));
    state.fill();
    let ended = run.end(Duration::from_secs(60));
    ended.assert_code(4);
    ended.assert_says(&["append to the ledger", "No space left on device"]);
    HostSnapshot::assert_same(&before, "full after the first changes");
    assert!(entries(&state.at.join("ledger")).is_empty());
}

/// A run killed in its window, and its ledger.
fn killed(bench: &Bench) -> PathBuf {
    let run = run_until(bench, Moment::Run);
    run.kill();
    entries(&bench.path("state/ledger")).pop().unwrap()
}

#[test]
fn a_damaged_ledger_is_restored_as_far_as_possible_and_can_be_set_aside() {
    let Some(bench) = Bench::on_host("a damaged ledger") else { return };
    let ledger = killed(&bench);
    // Append a foreign line and a truncated one.
    let mut text = fs::read_to_string(&ledger).unwrap();
    let run = ledger.file_stem().unwrap().to_str().unwrap().to_owned();
    let lines = text.lines().count();
    text.push_str("no such line\n{\"intend\":{\"entry\":99,\"chan");
    fs::write(&ledger, text).unwrap();
    for attempt in ["first", "second"] {
        let restored = bench.assay(["restore"]);
        restored.assert_code(6);
        restored.assert_says(&[
            &format!("line {} of", lines + 1),
            "it is damaged: no such line",
            &format!("line {} of", lines + 2),
            "{\"intend\":{\"entry\":99,\"chan",
            &format!("assay restore --set-aside {run}"),
        ]);
        bench.assert_host_is_as_before(&format!("{attempt} restore of a damaged ledger"));
    }
    let next = bench.run(&bench.path("study.toml"), &[]);
    next.assert_code(4);
    next.assert_says(&["2 damaged lines", "assay restore"]);
    let aside = bench.assay(["restore", "--set-aside", &run]);
    aside.assert_code(0);
    assert!(aside.stdout.contains(".set-aside"), "{}", aside.stdout);
    assert_eq!(bench.assay(["restore"]).stdout, "nothing to restore\n");
    bench.assay(["restore", "--set-aside", "no-such-run"]).assert_code(4);
}

#[test]
fn a_ledger_of_a_newer_assay_is_left_alone() {
    let bench = Bench::aside();
    fs::create_dir_all(bench.path("state/ledger")).unwrap();
    // Sealed with the first 32 bits of SHA-256, as docs/safety.md says.
    let line = "{\"begin\":{\"format\":4,\"run\":\"later\"}}\t64f8b374\nwhat only it knows\n";
    let ledger = bench.path("state/ledger/later.jsonl");
    fs::write(&ledger, line).unwrap();
    let restored = bench.assay(["restore"]);
    restored.assert_code(6);
    restored.assert_says(&["written by a newer Assay (format 4)", "--set-aside later"]);
    assert_eq!(fs::read_to_string(&ledger).unwrap(), line);
}

/// Processes in a group made by Assay are killed with it, as systemd kills the processes of a unit.
#[test]
fn a_foreign_process_in_a_group_of_assay_is_killed_with_the_group() {
    let Some(bench) = Bench::on_host("a foreign process in a group") else { return };
    let run = run_until(&bench, Moment::Run);
    let group = entries(Path::new("/sys/fs/cgroup/blkio"))
        .into_iter()
        .find(|path| path.is_dir() && own::has(&path.to_string_lossy()));
    let Some(group) = group else {
        skip("a foreign process in a group", "blkio is not on cgroup v1 here");
        run.signal(Signal::TERM);
        run.end(Duration::from_secs(60)).assert_code(130);
        return;
    };
    let mut foreign = Command::new("sleep").arg("60").spawn().unwrap();
    fs::write(group.join("cgroup.procs"), foreign.id().to_string()).unwrap();
    run.kill();
    bench.assay(["restore"]).assert_code(0);
    assert!(!foreign.wait().unwrap().success(), "it was ended with the group");
    bench.assert_host_is_as_before("restored with a foreign process inside");
}
