//! A failed workload: its name, the reason, its output, and the data of the others.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::bench::Bench;
use crate::running::{Ended, end_processes_in, json};
use crate::study::Weights;

/// Runs four sections of which the third has the given option.
fn run_with(bench: &Bench, option: &str) -> Ended {
    let mut jobs = String::from(
        "[global]\nioengine=libaio\nbs=4k\niodepth=8\ndirect=1\nrw=randread\ntime_based\nruntime=600\n",
    );
    for number in 1..=4 {
        jobs.push_str(&format!("[task{number}]\ncgroup=task{number}\n"));
        if number == 3 {
            jobs.push_str(&format!("{option}\n"));
        }
    }
    bench.write("jobs.fio", &jobs);
    let workload = "use = \"fio\"\njobfile = \"jobs.fio\"".to_owned();
    let study = Weights { workload, ..Weights::small() };
    bench.run(&bench.write("study.toml", &study.text()), &[])
}

fn assert_one_failed(bench: &Bench, ended: &Ended) {
    ended.assert_code(5);
    let log = "logs/trial-00-repeat-00/task3.reader";
    ended.assert_says(&["workload `task3.reader` failed: ", log]);
    assert!(bench.out().join(log).join("fio.txt").is_file());
    bench.assert_host_is_as_before("after the failure");

    let manifest = json(&bench.out().join("manifest.json"));
    let repeat = &manifest["trials"][0]["repeats"][0];
    assert_eq!(repeat["fault"]["kind"], "workload");
    for workload in repeat["workloads"].as_array().unwrap() {
        let failed = workload["workload"] == "task3.reader";
        assert_eq!(workload["failure"] == Value::Null, !failed, "{workload}");
        if !failed {
            assert!(workload["metrics"]["read_bytes"].as_f64().unwrap() > 0.0, "{workload}");
        }
    }
    assert_others_are_shown(bench);
}

fn assert_others_are_shown(bench: &Bench) {
    let verdict = json(&bench.out().join("verdict.json"));
    let groups = verdict["trials"][0]["promises"][0]["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 4, "{verdict}");
    for group in groups.iter().filter(|group| group["name"] != "task3") {
        assert!(group["rate"].as_f64().unwrap() > 0.0, "{group}");
    }
    let html = fs::read_to_string(bench.out().join("report.html")).unwrap();
    assert!(html.contains("task3.reader") && html.contains("task4"));
}

#[test]
fn an_option_value_that_fio_refuses_fails_one_workload_of_four() {
    let Some(bench) = Bench::on_host("an option value that fio refuses") else { return };
    let ended = run_with(&bench, "ioengine=imaginary");
    assert_one_failed(&bench, &ended);
}

#[test]
fn a_workload_that_is_killed_in_the_window_fails_alone() {
    let Some(bench) = Bench::on_host("a workload that is killed") else { return };
    let study = bench.write("study.toml", &Weights::small().text());
    let mut run = bench.start(&study, &[]);
    run.wait_until("the window", |run| run.says("run"));
    sleep(Duration::from_millis(300));
    // As the kernel does when memory is short.
    end_processes_in(&bench.out().join("logs/trial-00-repeat-00/task3.reader"));
    let ended = run.end(Duration::from_secs(60));
    assert_one_failed(&bench, &ended);
    ended.assert_says(&["killed by signal 9"]);
}
