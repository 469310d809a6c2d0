//! The four classic workloads at small scale, and consistency of their statistics.

use std::path::Path;

use clap::Parser;
use serde_json::Value;

use super::*;
use crate::output::Silence;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    filebench: Filebench,
    #[command(flatten)]
    shared: Shared,
}

fn line(arguments: &[&str]) -> Line {
    Line::try_parse_from([&["filebench"], arguments].concat()).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a classic workload for one second with 1000 files and 4 threads; returns JSON and text. A
/// fifth of the files is missing at first; a file that another thread has open is not deleted, so
/// that a fast disk fills 200 names in less than a second, until none is left to create and the run
/// ends.
fn classic(name: &str, place: &Path) -> (Value, String) {
    let directory = format!("dir={}", place.display());
    let line =
        line(&[name, "--set", &directory, "--set", "nfiles=1000", "--threads", "4", "--run", "1"]);
    let report =
        line.filebench.run(&line.shared, &Silence).unwrap_or_else(|e| panic!("{e}")).report;
    (report.json, report.text)
}

fn counts(json: &Value) -> Vec<(String, u64)> {
    let operations = json["operations"].as_array().unwrap();
    let one =
        |one: &Value| (one["name"].as_str().unwrap().to_owned(), one["count"].as_u64().unwrap());
    operations.iter().map(one).collect()
}

#[test]
fn each_loop_of_a_classic_does_each_operation_once() {
    for (name, reads, writes) in
        [("fileserver", 1, 2), ("varmail", 2, 2), ("webserver", 10, 1), ("webproxy", 5, 1)]
    {
        let place = tempfile::tempdir().unwrap();
        let (json, text) = classic(name, place.path());
        let counts = counts(&json);
        let loops = counts.iter().map(|(_, count)| *count).max().unwrap();
        for (operation, count) in &counts {
            // A thread may be in the middle of a loop; a file that is open is not deleted; opslimit
            // has no effect without events; appendlog opens its file first.
            let missing = loops - count;
            let free = ["deletefile1", "limit"].contains(&operation.as_str());
            assert!(free || missing <= 8, "{name}: {operation} {count} of {loops}");
        }
        // Reported reads and writes are the sums over the operations of each kind.
        let summary_value = |what: &str| json["summary"][what].as_f64().unwrap();
        let sum = |kinds: &[&str]| -> u64 {
            let named = |name: &str| kinds.iter().any(|kind| name.starts_with(kind));
            counts.iter().filter(|(name, _)| named(name)).map(|(_, count)| count).sum()
        };
        let ratio = sum(&["readfile"]) as f64 / sum(&["wrt", "append"]) as f64;
        let actual = summary_value("reads_per_s") / summary_value("writes_per_s");
        assert!((actual / ratio - 1.0).abs() < 1e-6, "{name}: {actual} is not {ratio}");
        let kinds = |kinds: &[&str]| {
            counts
                .iter()
                .filter(|(name, _)| kinds.iter().any(|kind| name.starts_with(kind)))
                .count()
        };
        assert_eq!((kinds(&["readfile"]), kinds(&["wrt", "append"])), (reads, writes), "{name}");
        assert!(summary_value("bytes") > 0.0, "{name}");
        assert!(text.contains("IO Summary: ") && text.contains("personality successfully loaded"));
        let set = &json["file_sets"][0];
        assert_eq!(set["entries"], 1000, "{name}");
        assert!(place.path().join("bigfileset").is_dir());
    }
}

#[test]
fn a_script_without_run_creates_nothing_and_says_how_to_run_it() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("no_run.f");
    let text = "define fileset name=s,path=/nowhere,entries=1,dirwidth=2\n\
        define process name=p { thread name=t { flowop hog name=h } }\necho \"loaded\"\n";
    std::fs::write(&script, text).unwrap();
    let line = line(&[script.to_str().unwrap()]);
    let report = line.filebench.run(&line.shared, &Silence).unwrap().report;
    assert!(report.text.contains("no run command") && report.text.contains("loaded"));
    assert_eq!(report.json["ran"], false);
}

#[test]
fn a_broken_script_is_refused_before_anything_is_created() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("broken.f");
    std::fs::write(&script, "set $x=1\nrnu 60\n").unwrap();
    let line = line(&[script.to_str().unwrap()]);
    let failure = line.filebench.footprint(&line.shared).unwrap_err();
    assert_eq!(failure.exit_code(), 2);
    let text = failure.to_string();
    assert!(
        text.contains("broken.f:2:1: unknown command `rnu`\n  hint: did you mean `run`?"),
        "{text}"
    );
}

#[test]
fn a_script_may_load_another() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(
        place.path().join("part.f"),
        "define process name=p { thread name=t,memsize=3m { flowop hog name=h } }",
    )
    .unwrap();
    let script = place.path().join("whole.f");
    std::fs::write(&script, "load part\nrun 1\n").unwrap();
    let line = line(&["-f", script.to_str().unwrap()]);
    let footprint = line.filebench.footprint(&line.shared).unwrap();
    assert!(footprint.peak() > 3 << 20, "{footprint:?}");
    std::fs::write(&script, "load whole\nrun 1\n").unwrap();
    assert!(line.filebench.footprint(&line.shared).unwrap_err().to_string().contains("too deep"));
}

#[test]
fn memory_and_disk_space_are_predicted() {
    let place = tempfile::tempdir().unwrap();
    let directory = format!("dir={}", place.path().display());
    let line = line(&["fileserver", "--set", &directory]);
    let peak = line.filebench.footprint(&line.shared).unwrap().peak();
    assert!((500 << 20..520 << 20).contains(&peak), "{peak}");
    let storage = line.filebench.storage(&line.shared).unwrap().unwrap();
    let predicted = storage[0]["predicted_bytes"].as_f64().unwrap();
    assert!((predicted / (10_000.0 * 0.8 * 131_072.0) - 1.0).abs() < 0.03, "{predicted}");
    assert!(std::fs::read_dir(place.path()).unwrap().next().is_none(), "nothing was made");
}

#[test]
fn a_too_large_file_set_is_refused_before_the_disk_is_full() {
    let place = tempfile::tempdir().unwrap();
    let directory = format!("dir={}", place.path().display());
    let line =
        line(&["fileserver", "--set", &directory, "--set", "nfiles=100000000", "--run", "1"]);
    let failure = line.filebench.run(&line.shared, &Silence).unwrap_err().to_string();
    assert!(failure.contains("where") && failure.contains("reduce $nfiles"), "{failure}");
}
