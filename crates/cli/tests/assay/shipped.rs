//! Commands without a run: studies, the schema, the host.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;

fn studies() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

#[test]
fn studies_are_listed_one_per_line_and_printed_unchanged() {
    let bench = Bench::aside();
    let list = bench.assay(["run", "--list"]);
    list.assert_code(0);
    let mut names: Vec<&str> =
        list.stdout.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    names.sort_unstable();
    let mut files: Vec<String> = fs::read_dir(studies())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .collect();
    files.sort_unstable();
    assert_eq!(names, files);
    for name in names {
        let printed = bench.assay(["run", "--list", name]);
        printed.assert_code(0);
        let path = studies().join(format!("{name}.toml"));
        assert_eq!(printed.stdout, fs::read_to_string(path).unwrap());
    }
    let job_file = bench.assay(["run", "--list", "io-weight-job.fio"]);
    assert_eq!(job_file.stdout, fs::read_to_string(studies().join("io-weight-job.fio")).unwrap());
}

#[test]
fn a_printed_study_is_valid() {
    let bench = Bench::aside();
    let text = bench.assay(["run", "--list", "io-weight"]).stdout;
    let study = bench.write("mine.toml", &text);
    let ended = bench.assay(["check".as_ref(), study.as_os_str(), "-ojson".as_ref()]);
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["study"], "mine");
    assert_eq!(document["trials"].as_array().unwrap().len(), 1);
    let refused = !document["refusals"].as_array().unwrap().is_empty();
    assert_eq!(ended.status.code(), Some(if refused { 4 } else { 0 }));
}

#[test]
fn the_schema_equals_the_one_in_the_docs() {
    let ended = Bench::aside().assay(["generate", "schema"]);
    ended.assert_code(0);
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/study.schema.json");
    let written: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(printed, written);
}

#[test]
fn the_host_is_shown_as_text_and_as_json() {
    let bench = Bench::aside();
    let ended = bench.assay(["host", "-ojson"]);
    ended.assert_code(0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["schema"], 1);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(document["facts"]["kernel"], kernel.trim());
    for need in document["requirements"].as_array().unwrap() {
        assert_eq!(need["met"] == false, need["remedy"].is_string(), "{need}");
    }
    let text = bench.assay(["host"]);
    text.assert_code(0);
    for part in [kernel.trim(), "control groups: ", "disks", "what can be studied"] {
        assert!(text.stdout.contains(part), "no `{part}` in {}", text.stdout);
    }
}
