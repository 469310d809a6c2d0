//! `assay tune --iocost` on the real kernel: what it prints has the kernel's format, and the host is restored. The
//! proof with weights needs cgroup v2, which a guest has (`lab/guest.rs`).

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::Bench;
use crate::running::{Running, json};

const MODEL: [&str; 6] = ["rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops"];

fn command(bench: &Bench, more: &[&str]) -> std::process::Command {
    let mut command = bench.program();
    command
        .args(["tune", "--yes", "--iocost"])
        .args(more)
        .arg("-ojson")
        .arg("--out")
        .arg(bench.out());
    command
}

/// The numbers behind the keys of a line, as `ioc_cost_model_write` and `ioc_qos_write` of block/blk-iocost.c scan
/// them: whole numbers, and percentages with two decimals.
pub(crate) fn scan(line: &str, prefix: &str) -> Vec<(String, f64)> {
    let (numbers, rest) = line.split_once(' ').unwrap();
    let (major, minor) = numbers.split_once(':').unwrap();
    assert!(major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok(), "{line}");
    let words = rest.strip_prefix(prefix).unwrap_or_else(|| panic!("{line}")).split_whitespace();
    let pair = |word: &str| {
        let (key, value) = word.split_once('=').unwrap();
        match key {
            "rpct" | "wpct" | "min" | "max" => {
                assert_eq!(value.split_once('.').map(|(_, rest)| rest.len()), Some(2), "{line}");
            }
            _ => assert!(value.parse::<u64>().is_ok(), "{line}"),
        }
        (key.to_owned(), value.parse().unwrap())
    };
    words.map(pair).collect()
}

#[test]
fn a_disk_is_measured_and_the_host_is_restored() {
    let Some(bench) = Bench::on_host("tune --iocost") else { return };
    let command = command(&bench, &["loop:96MiB", "--for", "9s"]);
    let ended = Running::start(command, bench.folder(), bench.out()).end(Duration::from_secs(120));
    ended.assert_verdict();
    bench.assert_host_is_as_before("after a disk was measured");
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found, json(&bench.out().join("iocost.json")));

    // Every number is that of its load, and in its line.
    let line = |name: &str| found[name].as_str().unwrap_or_else(|| panic!("{found:#}"));
    let model = scan(line("model"), "ctrl=user model=linear ");
    assert_eq!(model.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), MODEL);
    for (key, value) in &model {
        assert_eq!(found["measured"][key].as_f64().unwrap().round(), *value);
    }
    let qos = scan(line("qos"), "enable=1 ctrl=user ");
    let keys: Vec<&str> = qos.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["rpct", "rlat", "wpct", "wlat", "min", "max"]);
    assert!(qos[1].1 >= found["measured"]["rlat"].as_f64().unwrap(), "{found:#}");

    let manifest = json(&bench.out().join("manifest.json"));
    assert_eq!(manifest["restored"], true);
    for trial in manifest["trials"].as_array().unwrap().iter().take(8) {
        let queue = &trial["repeats"][0]["queues"][0];
        assert_eq!(
            (&queue["scheduler_at_start"], &queue["at_start"]["nomerges"]),
            (&"none".into(), &"1".into())
        );
    }
    // What cannot be had here says why.
    let missing = &found["not_available"];
    assert!(missing["hwdb"].as_str().unwrap().contains("no model name"), "{found:#}");
    let on_v2 = manifest["host"]["cgroup"]["controllers"]["io"]["hierarchy"]["v2"].is_string();
    match on_v2 {
        true => assert!(found["proof"]["verdict"].is_string(), "{found:#}"),
        false => assert!(missing["proof"].as_str().unwrap().contains("cgroup v1"), "{found:#}"),
    }
}

#[test]
fn an_interrupted_measurement_keeps_what_it_has_and_restores_the_host() {
    let Some(bench) = Bench::on_host("tune --iocost, interrupted") else { return };
    let command = command(&bench, &["loop:96MiB", "--for", "60s"]);
    let mut running = Running::start(command, bench.folder(), bench.out());
    running.wait_until("the second load", |run| run.runs_trial(1));
    running.signal_from_terminal(Signal::INT);
    let ended = running.end(Duration::from_secs(60));
    ended.assert_code(130);
    bench.assert_host_is_as_before("after an interrupted measurement");
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found["ended_early"], true);
    assert!(found["measured"]["wbps"].as_f64().unwrap() > 0.0, "{found:#}");
    let why = found["not_available"]["wrandiops"].as_str().unwrap();
    assert!(why.contains("ended before it"), "{found:#}");
}

#[test]
fn a_disk_that_is_in_use_or_not_meant_is_refused_before_the_host_is_changed() {
    let bench = Bench::aside();
    let refused = |words: &[&str], code: i32, says: &str| {
        let ended = bench.finish(command(&bench, words));
        ended.assert_code(code);
        ended.assert_says(&[says]);
        assert!(!bench.out().exists());
    };
    refused(&["block:/dev/assay-no-such-disk"], 4, "assay-no-such-disk");
    refused(&["loop:64MiB", "--erase", "ext4"], 2, "`/dev/x`");
    refused(&["nvme:1GiB"], 2, "assay lab run");
    refused(&["loop", "--settings", "2"], 2, "--settings");
    let ended = bench.assay(["tune"]);
    ended.assert_code(2);
    ended.assert_says(&["<STUDY>"]);
}
