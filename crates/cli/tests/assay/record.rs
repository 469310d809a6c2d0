//! `assay record`: a recording without a study, of a command, of a process and of a group.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::Bench;
use crate::hostile::foreign_run;
use crate::running::Running;

/// Exit code, stdout, stderr.
fn sample(bench: &Bench, arguments: &[&str]) -> (i32, String, String) {
    let output = bench.program().arg("record").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

const WORK: &str = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; sleep 0.3; echo done";

#[test]
fn a_command_is_recorded_from_start_to_end_and_nothing_else_changes() {
    let Some(bench) = Bench::with("assay record", &[]) else { return };
    let out = bench.path("run");
    let place = out.to_str().unwrap();
    let arguments = ["--for", "60s", "-ojson", "--out", place, "--", "sh", "-c", WORK];
    let (code, stdout, stderr) = sample(&bench, &arguments);
    assert_eq!(code, 0, "{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["recording"]["ended"], "the command ended: exit status: 0");
    // `sh` and the `sleep` that it forks.
    let threads = &document["summary"]["threads"];
    assert!(threads["threads"].as_f64() >= Some(2.0), "{threads}");
    assert!(threads["run_s"].as_f64() > Some(0.0), "{threads}");
    assert!(document["summary"]["paging"]["fault_s"].as_f64() > Some(0.0), "{document:#}");
    assert!(document["summary"]["memory"]["cached_bytes"].as_f64() > Some(0.0));
    for (name, why) in document["not_available"].as_object().unwrap() {
        assert!(why.as_str().is_some_and(|why| why.len() > 10), "{name} has no reason");
    }
    assert!(document["not_available"]["pagetypeinfo"].is_string(), "it disturbs the host");
    assert_eq!(read(&out.join("logs/command/stdout")), "done\n");
    for table in ["threads", "vmstat", "meminfo", "host_cpu"] {
        assert!(
            out.join(format!("samples/trial-00-repeat-00/{table}.parquet")).is_file(),
            "{table}"
        );
    }
    let page = read(&out.join("report.html"));
    assert!(page.contains("id=\"trial-1-threads-spec\""), "threads are drawn");
    assert!(!page.contains("The machine was divided as promised"), "no promises, no verdict");
    bench.assert_host_is_as_before("assay record");
}

#[test]
fn a_recording_is_not_judged_and_its_page_can_be_rewritten() {
    let bench = Bench::aside();
    let out = bench.path("run");
    let (code, text, stderr) =
        sample(&bench, &["--out", out.to_str().unwrap(), "--", "sleep", "0.2"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(text.contains("Threads") && text.contains("pgpgin/s"), "{text}");
    let run = |command: &str| bench.program().arg(command).arg(&out).output().unwrap();
    let judged = run("judge");
    assert_eq!(judged.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&judged.stderr).contains("no promises to judge"));
    let page = read(&out.join("report.html"));
    std::fs::remove_file(out.join("report.html")).unwrap();
    assert_eq!(run("report").status.code(), Some(0));
    assert_eq!(read(&out.join("report.html")), page, "the same page from the same samples");
}

#[test]
fn a_recording_that_is_killed_is_shown_up_to_its_last_sample() {
    let Some(bench) = Bench::with("a recording that is killed", &[]) else { return };
    let out = bench.path("run");
    let mut command = bench.program();
    let mut child = Command::new("sleep").arg("61.7").spawn().unwrap();
    let pid = child.id().to_string();
    command.args(["record", "--for", "60s", "--pid", &pid, "--out"]).arg(&out);
    let mut running = Running::start(command, bench.folder(), out.clone());
    let stream = out.join("samples/trial-00-repeat-00/host_cpu.csv");
    let rows = || std::fs::read_to_string(&stream).map_or(0, |text| text.lines().count());
    running.wait_until("the names of the columns and two rows", |_| rows() > 2);
    running.kill();
    child.kill().unwrap();
    child.wait().unwrap();
    let page = out.join("report.html");
    let report = bench.assay(["report", out.to_str().unwrap()]);
    report.assert_code(0);
    assert!(read(&page).trim_end().ends_with("</html>"));
    let exported = bench.assay(["report", "--as", "csv", out.to_str().unwrap()]);
    let samples = read(&out.join("export/samples.csv"));
    assert!(samples.contains(",host_cpu,"), "{}", exported.stderr);
}

#[test]
fn a_report_that_cannot_be_written_is_not_a_success() {
    let bench = Bench::aside();
    let out = foreign_run(&bench, "run");
    std::fs::remove_dir_all(out.join("samples")).unwrap();
    let mut manifest: Value = serde_json::from_str(&read(&out.join("manifest.json"))).unwrap();
    manifest["recording"] = serde_json::json!({"kind": "command", "of": "true"});
    manifest["trials"][0]["repeats"] = serde_json::json!([]);
    std::fs::write(out.join("manifest.json"), manifest.to_string()).unwrap();
    std::fs::write(out.join("report.html"), "of an earlier version").unwrap();
    let report = bench.assay(["report", out.to_str().unwrap()]);
    report.assert_code(2);
    report.assert_says(&["the report could not be written", "nothing was recorded"]);
    assert_eq!(report.stdout, "", "no path of a page that is not there");
    assert!(!out.join("report.html").exists());
}

#[test]
fn an_endless_command_is_stopped_and_a_failing_one_counts_as_a_failed_workload() {
    let bench = Bench::aside();
    let long = bench.path("long");
    let arguments = ["--for", "500ms", "--out", long.to_str().unwrap(), "--", "sleep", "600"];
    let (code, text, stderr) = sample(&bench, &arguments);
    assert_eq!(code, 0, "{stderr}");
    assert!(text.contains("stopped when the time was up"), "{text}");

    let failing = bench.path("failing");
    let arguments = ["--out", failing.to_str().unwrap(), "--", "sh", "-c", "echo no >&2; exit 7"];
    let (code, _, stderr) = sample(&bench, &arguments);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("exit code 7"), "{stderr}");
    assert_eq!(read(&failing.join("logs/command/stderr")), "no\n");
}

#[test]
fn a_process_is_followed_until_it_ends() {
    let bench = Bench::aside();
    let mut child = Command::new("sleep").arg("1.5").spawn().unwrap();
    let (out, pid) = (bench.path("run"), child.id().to_string());
    let (code, stdout, stderr) =
        sample(&bench, &["--pid", &pid, "-ojson", "--out", out.to_str().unwrap()]);
    child.wait().unwrap();
    assert_eq!(code, 0, "{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["recording"]["ended"], "the process ended");
}
