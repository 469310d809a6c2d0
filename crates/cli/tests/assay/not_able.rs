//! Hosts that cannot run a study: without root, without fio, without the disk. Each error names what is
//! missing and a remedy.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::bench::Bench;
use crate::delegated::as_nobody;
use crate::study::Weights;
use assay_test_support::skip;

fn is_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip(test, "not root, so no other user can be switched to");
    }
    root
}

#[test]
fn without_root_run_and_check_give_the_same_remedy() {
    if !is_root("without root") {
        return;
    }
    let bench = Bench::aside();
    let study = bench.write("study.toml", &Weights::small().text());
    let mut run = as_nobody(&bench);
    run.args(["run", "--yes"]).arg(&study);
    let ended = bench.finish(run);
    ended.assert_code(4);
    ended.assert_says(&["root", "sudo", "nothing was touched"]);

    let mut check = as_nobody(&bench);
    check.arg("check").arg(&study);
    let ended = bench.finish(check);
    ended.assert_code(4);
    for text in ["task4: io.weight = 800", "root", "sudo"] {
        assert!(ended.stdout.contains(text), "no `{text}` in {}", ended.stdout);
    }

    let mut host = as_nobody(&bench);
    host.args(["host", "-ojson"]);
    let ended = bench.finish(host);
    ended.assert_code(0);
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["facts"]["effective_user"], 65534);
}

/// A folder with all programs of PATH that a run may call, except fio.
fn path_without_fio(bench: &Bench) -> PathBuf {
    let folder = bench.path("bin");
    fs::create_dir(&folder).unwrap();
    for name in ["blkid", "mkfs.ext4", "mkfs.xfs", "sfdisk"] {
        let path = std::env::var("PATH").unwrap();
        let found = path.split(':').map(|place| PathBuf::from(place).join(name));
        if let Some(program) = found.into_iter().find(|path| path.is_file()) {
            symlink(program, folder.join(name)).unwrap();
        }
    }
    folder
}

#[test]
fn without_fio_a_run_is_refused_with_the_package_to_install() {
    let Some(bench) = Bench::on_host("without fio") else { return };
    let study = bench.write("study.toml", &Weights::small().text());
    let mut run = bench.program();
    run.env("PATH", path_without_fio(&bench))
        .args(["run", "--yes"])
        .arg(study)
        .arg("--out")
        .arg(bench.out());
    let ended = bench.finish(run);
    ended.assert_code(4);
    ended.assert_says(&["fio", "apt-get install fio", "nothing was touched"]);
    assert!(!bench.out().exists());
    bench.assert_host_is_as_before("after the refusal");
}
