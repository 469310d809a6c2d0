//! Messages to somebody who has never seen the program: what is wrong, and what to write instead.

use std::fs;

use crate::bench::Bench;

fn refused(bench: &Bench, words: &[&str], says: &[&str]) {
    let ended = bench.assay(words);
    ended.assert_code(2);
    ended.assert_says(says);
}

#[test]
fn a_study_that_is_not_found_is_looked_for_under_its_ending() {
    let bench = Bench::aside();
    let study = bench.assay(["run", "--list", "cpu-weight"]).stdout;
    bench.write("mine.toml", &study);
    bench.write("own.assay.toml", &study);
    refused(&bench, &["check", "mine"], &["did you mean the file `mine.toml`?"]);
    refused(&bench, &["check", "own"], &["did you mean the file `own.assay.toml`?"]);
    refused(&bench, &["check", "./mine"], &["cannot read ./mine", "`./mine.toml`?"]);
    fs::create_dir(bench.path("studies")).unwrap();
    refused(&bench, &["check", "studies"], &["studies is a folder: name a study file in it"]);
    refused(&bench, &["check", "."], &[". is a folder"]);
}

#[test]
fn set_names_what_it_lacks_and_knows_knobs() {
    let bench = Bench::aside();
    let set =
        |text: &str, says: &[&str]| refused(&bench, &["check", "cpu-weight", "--set", text], says);
    set("cpu.weight=abc", &["unknown factor `cpu.weight`", "is a knob: change it in `knobs`"]);
    set("groups=", &["has no value after its `=`", "--set FACTOR=VALUE"]);
    set("=4", &["has no factor before its `=`"]);
    set("groups", &["has no `=`"]);
}

#[test]
fn what_is_no_run_says_what_it_is() {
    let bench = Bench::aside();
    fs::create_dir_all(bench.path("run")).unwrap();
    fs::write(bench.path("run/manifest.json"), "{}").unwrap();
    refused(&bench, &["judge", "absent"], &["No such file or directory", "runs/<time>-<study>"]);
    refused(&bench, &["judge", "run/manifest.json"], &["it is a file: name the folder of a run"]);
    refused(&bench, &["judge", "."], &["it holds no manifest.json", "it holds runs", "./run"]);
    let state = bench.path("state");
    fs::create_dir_all(&state).unwrap();
    refused(&bench, &["judge", "state"], &["it holds no manifest.json", "runs/<time>-<study>"]);
}

#[test]
fn an_audit_of_what_is_no_snapshot_says_where_snapshots_come_from() {
    let bench = Bench::aside();
    let snapshot = "assay audit --snapshot FILE";
    refused(&bench, &["audit", "absent.json"], &["No such file", snapshot]);
    refused(&bench, &["audit", "."], &["Is a directory", snapshot]);
    bench.write("study.toml", "title = \"x\"\n");
    refused(&bench, &["audit", "study.toml"], &["cannot use study.toml", snapshot]);
    refused(&bench, &["audit", "--manifest", "study.toml"], &["cannot use study.toml", "a Pod"]);
    fs::create_dir(bench.path("run")).unwrap();
    fs::write(bench.path("run/manifest.json"), "{}").unwrap();
    refused(&bench, &["audit", "run"], &["a run is judged by `assay judge`"]);
    refused(&bench, &["explain", "a-ancester"], &["did you mean `A-ANCESTOR`?"]);
    refused(&bench, &["explain", "c-nosuchcode"], &["unknown code", "A-ALONE"]);
    refused(&bench, &["audit", "--groups=/no/such"], &["has a group `/no/such`", "assay top"]);
}

#[test]
fn options_for_other_cases_are_refused_and_not_ignored() {
    let bench = Bench::aside();
    let words = ["tune", "--iocost", "loop", "--repeats", "3"];
    refused(&bench, &words, &["cannot be used with", "--repeats"]);
    let words = ["tune", "--yes", "cpu-weight", "--iocost", "loop"];
    refused(
        &bench,
        &words,
        &["--iocost: the study `cpu-weight`", "the study has no disk", "hint: "],
    );
}

#[test]
fn whom_a_manifest_means_and_who_is_not_there_fails_a_job() {
    let bench = Bench::aside();
    bench.write("assay-absent.service", "[Service]\nCPUWeight=200\n");
    let compared = ["audit", "--manifest", "assay-absent.service"];
    let typo = [&compared[..], &["--unit", "assay-typo.service"]].concat();
    refused(&bench, &typo, &["a group of unit assay-typo.service was not found", "hint: "]);
    let ended = bench.assay(compared);
    ended.assert_code(1);
    let (counted, said) = ("1 not found", "NOT FOUND  a group of unit assay-absent.service");
    assert!(ended.stdout.contains(counted) && ended.stdout.contains(said), "{}", ended.stdout);
}

#[test]
fn copies_that_are_not_there_leave_no_fleet_behind() {
    let bench = Bench::aside();
    fs::create_dir(bench.path("copies")).unwrap();
    let collect = ["fleet", "collect", "new", "--collect-from", "copies", "nosuch"];
    refused(&bench, &collect, &["cannot open nosuch: No such file", "hint: "]);
    assert!(!bench.path("new").exists());
}

#[test]
fn a_configuration_alone_asks_for_no_group() {
    let bench = Bench::aside();
    bench.write(
        "kubelet.yaml",
        "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n",
    );
    let says = ["kubelet.yaml: it asks for no group alone", "hint: "];
    refused(&bench, &["audit", "--manifest", "kubelet.yaml"], &says);
}
