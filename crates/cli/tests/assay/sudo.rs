//! Root works for the user who called sudo, in folders of that user, who can rename and exchange everything
//! in them, but must control neither what root starts nor where root writes.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::bench::Bench;
use crate::running::{Running, json};
use crate::study::{Weights, loop_disk_with_ext4};

const CALLER: u32 = 65534;

/// A folder of the caller.
fn home(bench: &Bench) -> PathBuf {
    let home = bench.path("home");
    fs::create_dir_all(home.join("runs")).unwrap();
    for path in [&home, &home.join("runs")] {
        chown(path, Some(CALLER), Some(CALLER)).unwrap();
    }
    home
}

/// A run that the caller has started with sudo, in its window.
fn in_window(bench: &Bench, study: &Weights, more: &[&str]) -> (Running, PathBuf) {
    let run = home(bench).join("runs/one");
    let study = bench.write("study.toml", &study.text());
    let mut command = bench.program();
    command.env("SUDO_UID", CALLER.to_string()).env("SUDO_GID", CALLER.to_string());
    command.args(["run", "--yes"]).arg(study).arg("--out").arg(&run).args(more);
    let mut running = Running::start(command, bench.folder(), run.clone());
    running.wait_until("the window", |run| run.says("run"));
    (running, run)
}

/// The owners of a folder and everything in it.
fn owners(place: &Path) -> Vec<u32> {
    let mut found = vec![place.symlink_metadata().unwrap().uid()];
    if place.is_dir() {
        let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.flat_map(|path| owners(&path)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the caller can do this.
fn caller_can(words: &[&str], path: &Path) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(words).arg(path);
    command.stderr(std::process::Stdio::null()).status().unwrap().success()
}

fn ext4(at_most: &'static str) -> Weights {
    let workload = "use = \"fio\"\nargs = { rw = \"randread\", bs = \"4k\", size = \"4m\" }";
    Weights {
        disk: loop_disk_with_ext4(64, 2),
        groups: 2,
        at_most,
        workload: workload.to_owned(),
        weighted: false,
    }
}

#[test]
fn a_run_folder_belongs_to_root_until_the_run_is_over_and_then_to_the_caller() {
    let Some(bench) = Bench::on_host("a run under sudo") else { return };
    for kill in [true, false] {
        let (running, run) =
            in_window(&bench, &Weights { at_most: "60 s", ..Weights::small() }, &[]);
        assert_eq!(owners(&run), [0], "while root's fio reads its job there");
        let job = run.join("logs/trial-00-repeat-00/task1.reader/job.fio");
        assert!(job.is_file() && !caller_can(&["rm", "-f"], &job));
        assert!(!caller_can(&["touch"], &run.join("new")));
        if kill {
            running.kill();
            assert_eq!(owners(&run), [0]);
            bench.assay(["restore"]).assert_code(0);
        } else {
            running.signal(Signal::TERM);
            running.end(Duration::from_secs(60)).assert_code(130);
        }
        assert_eq!(owners(&run), [CALLER], "killed: {kill}");
        bench.assert_host_is_as_before(&format!("killed: {kill}"));
        fs::remove_dir_all(&run).unwrap();
    }
}

/// The parent folder belongs to the caller, who can therefore rename the run folder.
#[test]
fn a_run_folder_that_is_renamed_keeps_neither_its_mount_nor_its_loop_device() {
    let Some(bench) = Bench::on_host("a run folder that is renamed") else { return };
    for kill in [true, false] {
        let (running, run) = in_window(&bench, &ext4("60 s"), &[]);
        let moved = run.with_file_name("moved");
        fs::rename(&run, &moved).unwrap();
        if kill {
            running.kill();
            let restored = bench.assay(["restore"]);
            restored.assert_code(0);
            assert_eq!(restored.stdout, "the host is restored\n");
        } else {
            running.signal(Signal::TERM);
            running.end(Duration::from_secs(60)).assert_code(130);
        }
        bench.assert_host_is_as_before(&format!("renamed, killed: {kill}"));
        fs::remove_dir_all(&moved).unwrap();
    }
}

/// The run folder is also replaced by one whose names all lead to files of root.
#[test]
fn a_run_folder_that_is_exchanged_leads_root_nowhere() {
    let Some(bench) = Bench::on_host("a run folder that is exchanged") else { return };
    let victim = bench.path("victim");
    fs::create_dir(&victim).unwrap();
    let (running, run) = in_window(&bench, &ext4("1 s"), &["--repeats", "2"]);
    let moved = run.with_file_name("moved");
    fs::rename(&run, &moved).unwrap();
    fs::create_dir(&run).unwrap();
    for name in ["logs", "samples", "mnt", "export"] {
        symlink(&victim, run.join(name)).unwrap();
    }
    for name in ["manifest.json", "events.jsonl", "verdict.json", "report.html"] {
        symlink(victim.join(name), run.join(name)).unwrap();
    }
    running.end(Duration::from_secs(90)).assert_verdict();
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
    let manifest = json(&moved.join("manifest.json"));
    assert_eq!(manifest["trials"][0]["repeats"].as_array().unwrap().len(), 2);
    for name in ["verdict.json", "report.html", "samples/trial-00-repeat-01/io.parquet"] {
        let found = moved.join(name).symlink_metadata().unwrap();
        assert!(found.is_file() && found.uid() == CALLER, "{name}");
    }
    bench.assert_host_is_as_before("exchanged");
}

/// A trial with another disk makes its image after the exchange: in the run folder itself, not at its path.
/// The previous image is still there, since files to remove are not looked up under another name, so the
/// run ends with an error.
#[test]
fn an_image_is_made_in_the_run_folder_after_an_exchange() {
    let Some(bench) = Bench::on_host("images in a run folder that is exchanged") else {
        return;
    };
    let disk = "use = \"loop\"\nsize = \"{size}\"\nscheduler = \"bfq\"\n\
                [factors]\nsize = [\"64 MiB\", \"80 MiB\"]";
    let study = Weights { disk: disk.to_owned(), at_most: "1 s", ..Weights::small() };
    let (mut running, run) = in_window(&bench, &study, &[]);
    let moved = run.with_file_name("moved");
    fs::rename(&run, &moved).unwrap();
    fs::create_dir(&run).unwrap();
    let mut left = Vec::new();
    while !running.has_ended() {
        left.extend(assay_test_support::entries(&run));
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = running.end(Duration::from_secs(90));
    assert!(left.is_empty(), "{left:?}");
    ended.assert_code(4);
    ended.assert_says(&["exists already"]);
    assert_eq!(json(&moved.join("manifest.json"))["restored"], true);
    bench.assert_host_is_as_before("another image");
}

/// Files that the caller has put there before are not taken over.
#[test]
fn a_folder_of_the_caller_that_is_not_empty_stays_the_callers() {
    if !rustix::process::geteuid().is_root() {
        assay_test_support::skip("a folder of the caller's", "it takes root to give a folder away");
        return;
    }
    let bench = Bench::aside();
    let run = home(&bench).join("runs/one");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("note"), "kept").unwrap();
    chown(&run, Some(CALLER), Some(CALLER)).unwrap();
    let mut command = bench.program();
    command.env("SUDO_UID", CALLER.to_string()).env("SUDO_GID", CALLER.to_string());
    command.args(["record", "--for", "200ms", "--out"]).arg(&run).args(["--", "true"]);
    let refused = bench.finish(command);
    refused.assert_code(4);
    refused.assert_says(&["the folder is not empty", "--out"]);
    assert_eq!(run.metadata().unwrap().uid(), CALLER);
    assert_eq!(fs::read_dir(&run).unwrap().count(), 1);
}
