//! Commands without a run: studies, the schema, the host.

use std::fs;
use std::path::Path;

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
