//! Folders from elsewhere, and folders that other users can write to: root must change nothing outside them
//! and start nothing. The attacks are those of docs/safety.md, made as a user would.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_test_support::skip;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::bench::Bench;
use crate::kills::times;
use crate::notebook::copy;
use crate::running::json;

/// A run that was recorded on another machine.
pub(crate) fn foreign_run(bench: &Bench, name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-support/faults/low-latency-on");
    let to = bench.path(name);
    copy(&from, &to);
    to
}

/// Names of all files that are written into a run folder; the victim folder of root has them all.
const WRITTEN: [&str; 4] = ["verdict.json", "report.html", "workloads.csv", "runs.csv"];

fn victim(bench: &Bench) -> PathBuf {
    let victim = bench.path("victim");
    fs::create_dir(&victim).unwrap();
    for name in WRITTEN {
        fs::write(victim.join(name), "theirs").unwrap();
    }
    victim
}

fn assert_whole(victim: &Path) {
    assert_eq!(fs::read_dir(victim).unwrap().count(), WRITTEN.len(), "something came to it");
    for name in WRITTEN {
        assert_eq!(fs::read_to_string(victim.join(name)).unwrap(), "theirs", "{name}");
    }
}

/// Attack S2: links in place of drafts and output files.
#[test]
fn links_in_a_run_folder_lead_nowhere() {
    let bench = Bench::aside();
    let victim = victim(&bench);
    let run = foreign_run(&bench, "run");
    fs::create_dir(run.join("export")).unwrap();
    for name in WRITTEN {
        let folder = if name.ends_with("csv") { run.join("export") } else { run.clone() };
        for end in ["", ".draft"] {
            let link = folder.join(format!("{name}{end}"));
            symlink(victim.join(name), link).unwrap();
        }
    }
    for words in [&["judge"][..], &["report"], &["report", "--as", "csv"]] {
        let mut words: Vec<&std::ffi::OsStr> = words.iter().map(std::ffi::OsStr::new).collect();
        words.insert(1, run.as_os_str());
        bench.assay(words);
        assert_whole(&victim);
    }
    // The output is there, as regular files.
    for name in ["verdict.json", "report.html", "export/workloads.csv", "export/runs.csv"] {
        assert!(run.join(name).symlink_metadata().unwrap().is_file(), "{name}");
    }
    // A folder that is a link is refused.
    fs::remove_dir_all(run.join("export")).unwrap();
    symlink(&victim, run.join("export")).unwrap();
    let run = run.as_os_str();
    let ended = bench.assay(["report".as_ref(), run, "--as".as_ref(), "csv".as_ref()]);
    ended.assert_code(4);
    assert_whole(&victim);
}

/// A link that another user has put into a folder such as /tmp, at the path of an output.
#[test]
fn an_output_in_a_world_writable_folder_follows_no_link() {
    let bench = Bench::aside();
    let victim = victim(&bench);
    let run = foreign_run(&bench, "run");
    let shared = bench.path("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
    symlink(victim.join("runs.csv"), shared.join("out")).unwrap();
    symlink(&victim, shared.join("folder")).unwrap();
    for (form, place) in
        [("openmetrics", "out"), ("openmetrics", "folder/runs.csv"), ("csv", "folder")]
    {
        let mut command = bench.program();
        command.arg("report").arg(&run).args(["--as", form, "--out"]).arg(shared.join(place));
        let ended = bench.finish(command);
        ended.assert_code(4);
        assert!(ended.stderr.contains("is a link in a folder that others"), "{}", ended.stderr);
        assert_whole(&victim);
    }
    let mut command = bench.program();
    command.arg("report").arg(&run).args(["--as", "openmetrics", "--out"]).arg(shared.join("mine"));
    bench.finish(command).assert_code(0);
    assert!(fs::read_to_string(shared.join("mine")).unwrap().ends_with("# EOF\n"));
}

/// A user exchanges files that root is about to write for links to files of root.
#[test]
fn exchanging_names_in_a_run_folder_leads_root_nowhere() {
    let bench = Bench::aside();
    let victim = victim(&bench);
    let run = foreign_run(&bench, "run");
    fs::create_dir(run.join("export")).unwrap();
    let hooks = bench.path("hooks");
    fs::create_dir(&hooks).unwrap();
    // By descriptors, so that the attacker does not follow the links.
    let [inside, around] =
        [&run, &bench.folder().to_owned()].map(|path| fs::File::open(path).unwrap());
    let inside = Arc::new(inside);
    let around = Arc::new(around);
    let pairs = [
        (&inside, "verdict.json", "verdict.json"),
        (&inside, "report.html", "report.html"),
        (&inside, "export", ""),
        (&around, "run", ""),
    ];
    let stop = Arc::new(AtomicBool::new(false));
    let mut renamers = Vec::new();
    for (index, (folder, name, target)) in pairs.into_iter().enumerate() {
        let hook = hooks.join(index.to_string());
        symlink(victim.join(target), &hook).unwrap();
        let (stop, folder) = (Arc::clone(&stop), Arc::clone(folder));
        renamers.push(std::thread::spawn(move || {
            while !stop.load(Ordering::Acquire) {
                let _ = renameat_with(&*folder, name, CWD, &hook, RenameFlags::EXCHANGE);
                // Intact at times, so that the program gets as far as writing.
                std::thread::sleep(std::time::Duration::from_micros(200 + 300 * index as u64));
            }
        }));
    }
    for attempt in 0..150 * times() {
        let words = [&["judge"][..], &["report"], &["report", "--as", "parquet"]][attempt % 3];
        let mut command = bench.program();
        command.arg(words[0]).arg(&run).args(&words[1..]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command.status().unwrap();
        assert_whole(&victim);
    }
    stop.store(true, Ordering::Release);
    for renamer in renamers {
        renamer.join().unwrap();
    }
}

/// Attack S12: the study of another host starts only after it was reviewed.
#[test]
fn explaining_a_run_of_another_host_starts_nothing() {
    let bench = Bench::aside();
    let run = foreign_run(&bench, "run");
    let owned = bench.path("owned");
    let program = bench.write("program", &format!("#!/bin/sh\ntouch {}\n", owned.display()));
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut manifest = json(&run.join("manifest.json"));
    let text = manifest["study_text"].as_str().unwrap().to_owned();
    manifest["study_text"] = format!(
        "{text}\n[[groups]]\nname = \"x\"\nrun = \"x\"\n[workloads.x]\nuse = \"command\"\ncommand = \
         [\"{}\"]\n# \u{1b}[2J\n",
        program.display()
    )
    .into();
    fs::write(run.join("manifest.json"), manifest.to_string()).unwrap();
    let ended = bench.assay(["diagnose".as_ref(), "--yes".as_ref(), run.as_os_str()]);
    ended.assert_code(2);
    ended.assert_says(&["another machine", "--allow-foreign-run", &program.display().to_string()]);
    assert!(!ended.stderr.contains("\u{1b}[2J"), "control sequences are escaped");
    for command in ["judge", "report"] {
        bench.assay([command.as_ref(), run.as_os_str()]);
    }
    assert!(!owned.exists(), "it was started");
    assert!(!bench.path("state").exists() && !bench.path("runs").exists());
}

/// Attacks S1, S3: root does not use folders in which others control the names.
#[test]
fn root_runs_nothing_in_a_folder_that_others_can_write_to() {
    if !rustix::process::geteuid().is_root() {
        skip("a folder of somebody else", "it takes root to give a folder away");
        return;
    }
    let bench = Bench::aside();
    let theirs = bench.path("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(65534), Some(65534)).unwrap();
    let study = bench.write("study.toml", SLEEPS);
    let run = theirs.join("run");
    let words = |more: &[&str]| {
        let mut words = vec!["run".to_owned(), "--yes".to_owned(), study.display().to_string()];
        words.extend(["--out".to_owned(), run.display().to_string()]);
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    };
    let ended = bench.assay(words(&[]));
    ended.assert_code(4);
    ended.assert_says(&["user 65534", "mode 0755", "hint: ", "--allow-shared-dir"]);
    assert!(!run.exists());
    let sampled = ["record", "--out", &run.display().to_string(), "--", "true"].map(str::to_owned);
    bench.assay(sampled).assert_code(4);
    assert!(!run.exists());
    assert!(!bench.path("state").exists(), "nothing of the host was changed");
}

const SLEEPS: &str = "title = \"Sleeps\"\n[design]\nrepeats = 1\nat_most = \"1 s\"\n[[groups]]\nname = \
                      \"a\"\nrun = \"sleep\"\nknobs = { \"cpu.weight\" = [100] }\n\
                      [workloads.sleep]\nuse = \"fio\"\nargs = { ioengine = \"cpuio\", cpuload = 1 }\n";

/// The state directory determines what root does at the next restore.
#[test]
fn a_state_directory_that_others_can_write_to_is_refused() {
    if !rustix::process::geteuid().is_root() {
        skip("a state directory of somebody else", "it takes root to give a folder away");
        return;
    }
    let bench = Bench::aside();
    fs::create_dir_all(bench.path("state/ledger")).unwrap();
    chown(bench.path("state"), Some(65534), Some(65534)).unwrap();
    let ended = bench.assay(["restore"]);
    ended.assert_code(6);
    ended.assert_says(&["user 65534", "chown"]);
    chown(bench.path("state"), Some(0), Some(0)).unwrap();
    bench.assay(["restore"]).assert_code(0);
}

/// Under sudo a run folder is the caller's, and the caller's folders are trusted.
#[test]
fn under_sudo_a_run_folder_belongs_to_the_caller() {
    use std::os::unix::fs::MetadataExt;
    if !rustix::process::geteuid().is_root() {
        skip("sudo", "it takes root");
        return;
    }
    let bench = Bench::aside();
    let theirs = bench.path("home");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(65534), Some(65534)).unwrap();
    let run = theirs.join("runs/one");
    let mut command = bench.program();
    command.env("SUDO_UID", "65534").env("SUDO_GID", "65534");
    command.args(["record", "--for", "200ms", "--out"]).arg(&run).args(["--", "true"]);
    bench.finish(command).assert_code(0);
    for name in
        ["", "manifest.json", "events.jsonl", "samples", "logs/command/stdout", "report.html"]
    {
        let metadata = run.join(name).metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534), "{name}");
    }
    assert_eq!(theirs.join("runs").metadata().unwrap().uid(), 65534);
}
