//! `assay report --as` of a real run, with the code of docs/exporting.md run on it; and a program that computes the
//! verdicts on means from what was exported.

mod by_hand;
mod other_tools;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::bench::Bench;
use crate::study::Weights;
use assay_test_support::skip;

pub(crate) use by_hand::{assert_recomputed, copy, recomputed, recordings};

/// The Python blocks of a page, in order.
fn blocks(page: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("```python\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A Python with both libraries: `scripts/setup report` installs one if the network is available.
pub(crate) fn python() -> Result<PathBuf, String> {
    let named = std::env::var_os("ASSAY_NOTEBOOK_PYTHON").map(PathBuf::from);
    let own = PathBuf::from("/var/cache/assay/notebook/bin/python");
    let any = [named, Some(own), Some(PathBuf::from("python3"))];
    let has_both = |python: &PathBuf| {
        let probe = Command::new(python).args(["-c", "import polars, duckdb"]).output();
        probe.is_ok_and(|output| output.status.success())
    };
    any.into_iter().flatten().find(has_both).ok_or_else(|| {
        "no python3 with polars and duckdb; `scripts/setup report` installs them".to_owned()
    })
}

#[test]
fn a_real_run_is_exported_in_every_format_and_the_guide_runs_on_it() {
    let Some(bench) = Bench::on_host("exporting a run") else { return };
    let study = Weights { groups: 2, ..Weights::small() }.text();
    let study = bench.write("study.toml", &study);
    let ended = bench.run(&study, &["--repeats", "2"]);
    ended.assert_verdict();
    bench.assert_host_is_as_before("after the run");

    bench.assay(["report", "run", "--as", "parquet", "--out", "tables"]).assert_code(0);
    for table in ["runs", "trials", "promises", "workloads", "samples"] {
        let bytes = fs::read(bench.path("tables").join(format!("{table}.parquet"))).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{table}");
    }
    bench.assay(["report", "run", "--as", "csv", "--no-samples", "--out", "csv"]).assert_code(0);
    let promises = fs::read_to_string(bench.path("csv").join("promises.csv")).unwrap();
    assert!(promises.starts_with("run,trial,promise,measure") && promises.contains("task2"));
    assert!(!bench.path("csv").join("samples.csv").exists());

    let metrics = bench.assay(["report", "run", "--as", "openmetrics"]).stdout;
    assert!(metrics.contains("assay_promise{") && metrics.ends_with("# EOF\n"), "{metrics}");

    assert_recomputed(&bench);
    many_runs_need_no_more_memory_than_few(&bench);
    guide(&bench);
}

/// Sixty runs under a memory limit that is too small for all of them at once: each has the files of the real
/// one, under its own name.
fn many_runs_need_no_more_memory_than_few(bench: &Bench) {
    let runs = bench.path("runs");
    fs::create_dir(&runs).unwrap();
    for number in 0..60 {
        let mut copy = Command::new("cp");
        copy.arg("-al").arg(bench.out()).arg(runs.join(format!("run-{number:02}")));
        assert!(copy.status().unwrap().success());
    }
    fs::create_dir_all(runs.join("half")).unwrap();
    fs::write(runs.join("half/manifest.json"), "{\"schema\": 1, ").unwrap();
    let mut command = Command::new("sh");
    let limited = "ulimit -v 600000; exec \"$0\" report runs --as parquet --out merged";
    command.args(["-c", limited, env!("CARGO_BIN_EXE_assay")]);
    bench.settle(&mut command);
    let ended = bench.finish(command);
    ended.assert_code(2);
    assert!(ended.stderr.contains("runs/half is left out"), "{}", ended.stderr);
    let one = fs::metadata(bench.path("tables").join("samples.parquet")).unwrap().len();
    let all = fs::metadata(bench.path("merged").join("samples.parquet")).unwrap().len();
    assert!(all > 20 * one, "{all} bytes for sixty, {one} for one");
}

fn guide(bench: &Bench) {
    let python = match python() {
        Ok(python) => python,
        Err(why) => return skip("the guide in docs/exporting.md", &why),
    };
    let blocks = blocks("exporting.md");
    assert!(blocks.len() >= 6, "{} blocks", blocks.len());
    let script = bench.write("guide.py", &blocks.join("\n"));
    let ran = Command::new(python).arg(script).current_dir(bench.folder()).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{error}");
    assert!(out.contains("task2") && out.contains("mb_per_s"), "{out}");
}
