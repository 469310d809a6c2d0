//! Existing fio job files, used unchanged.

use std::fs;
use std::path::Path;

use crate::bench::Bench;
use crate::notebook::assert_recomputed;
use crate::running::json;
use crate::study::shipped_with;

const JOB_FILE: &str = "\
; made years ago, for a kernel that had CFQ
[global]
bs=4k
ioengine=libaio
iodepth=8
direct=1
rw=read
size=8M
cgroup_nodelete=1

[task1]
directory=/mnt/task1
cgroup=task1
cgroup_weight=100

[task2]
directory=/mnt/task2
cgroup=task2
cgroup_weight=800
thread
numjobs=2
exec_prerun=true || false
";

/// Asserts that the job files for fio have no group options and name no path of the user.
fn assert_derived(run: &Path, count: usize) {
    let mut checked = 0;
    for folder in assay_test_support::entries(&run.join("logs/trial-00-repeat-00")) {
        let Ok(text) = fs::read_to_string(folder.join("job.fio")) else { continue };
        assert!(!text.contains("cgroup"), "{text}");
        assert!(!text.contains("=/mnt/"), "{text}");
        assert!(text.contains("rw=read\n"), "options of the user are kept: {text}");
        checked += 1;
    }
    assert_eq!(checked, count);
}

#[test]
fn the_shipped_job_file_runs_on_four_partitions() {
    let Some(bench) = Bench::on_host("the shipped job file") else { return };
    // Unchanged except for its size.
    shipped_with(&bench, "io-weight-job.fio", &[("size=1G", "size=24M")]);
    let study = shipped_with(&bench, "io-weight-job.toml", &[("\"5184 MiB\"", "\"176 MiB\"")]);
    let ended = bench.run(&study, &["--duration", "2s", "--repeats", "2"]);
    ended.assert_verdict();
    bench.assert_host_is_as_before("after the run");
    assert_recomputed(&bench);
    assert_derived(&bench.out(), 4);
    let manifest = json(&bench.out().join("manifest.json"));
    let workload = &manifest["trials"][0]["groups"][0]["workloads"][0];
    assert!(workload["taken_over"].to_string().contains("cgroup=task1"), "{workload}");
}

#[test]
fn a_job_file_is_a_study_in_one_line() {
    let bench = Bench::aside();
    let job_file = bench.write("mine.fio", JOB_FILE);
    let checked = bench.assay(["check".as_ref(), job_file.as_os_str()]);
    for said in [
        "[task1] runs in `task1`; replaced: cgroup=task1, cgroup_weight=100, cgroup_nodelete=1, \
         directory=/mnt/task1 -> a part of disk `scratch`",
        "task2: io.weight = 800",
        "io.bytes is proportional to io.weight",
    ] {
        assert!(checked.stdout.contains(said), "no `{said}` in {}", checked.stdout);
    }
}

#[test]
fn two_job_files_are_one_study() {
    let Some(bench) = Bench::on_host("two job files") else { return };
    let (fast, slow) = JOB_FILE.split_once("[task2]").unwrap();
    let global = fast.split("[task1]").next().unwrap();
    let files =
        [bench.write("fast.fio", fast), bench.write("slow.fio", &format!("{global}[task1]{slow}"))];
    let slow = files[1].to_str().unwrap();
    let more = ["--weights", "3:1", "--disk", "loop:64MiB", "--repeats", "1", "--duration", "2s"];
    let modified = fs::metadata(&files[0]).unwrap().modified().unwrap();
    let ended = bench.run(&files[0], &[&[slow][..], &more].concat());
    ended.assert_verdict();
    ended.assert_says(&["replaced: cgroup=task2"]);
    bench.assert_host_is_as_before("after the run");
    assert_derived(&bench.out(), 2);
    // The files of the user are left untouched.
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), fast);
    assert_eq!(fs::metadata(&files[0]).unwrap().modified().unwrap(), modified);
    let manifest = json(&bench.out().join("manifest.json"));
    let groups = manifest["trials"][0]["groups"].as_array().unwrap();
    let asked = |group: &serde_json::Value| {
        let of = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        (of(&group["name"]), of(&group["knobs"][0]["asked"]))
    };
    let pairs = [("fast", "300"), ("slow", "100")];
    let pairs = pairs.map(|(group, weight)| (group.to_owned(), weight.to_owned()));
    assert_eq!(groups.iter().map(asked).collect::<Vec<_>>(), pairs);

    let twice = bench.assay(["check", slow, slow, "--weights", "1:1"]);
    twice.assert_code(2);
    twice.assert_says(&["cannot be added", "all in one folder"]);
    let shipped = bench.assay(["check", "cpu-weight", slow]);
    shipped.assert_code(2);
    shipped.assert_says(&["cpu-weight is the whole study", "assay run a.fio b.fio"]);
}
