//! Copies of runs, taken by a program that is killed again and again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::{fleet, in_memory, merged, node, rate, write_run};
use crate::bench::Bench;
use crate::running::{Running, json};

const HOSTS: usize = 120;

/// Kills, each after one part more of the runs was taken.
const KILLS: usize = 12;

/// The run folders that are in their places.
fn taken(fleet: &Path) -> Vec<std::path::PathBuf> {
    let tasks = fs::read_dir(fleet.join("tasks")).into_iter().flatten().flatten();
    let jobs = tasks.flat_map(|task| fs::read_dir(task.path()).into_iter().flatten().flatten());
    jobs.map(|job| job.path().join("run")).filter(|run| run.exists()).collect()
}

/// Asserts that every run that is in its place is there to its last byte.
#[track_caller]
fn assert_whole(fleet: &Path, copies: &Path) {
    for run in taken(fleet) {
        let host = json(&run.join("manifest.json"))["host"]["host_name"].clone();
        let original = copies.join(host.as_str().unwrap());
        let io = "samples/trial-00-repeat-00/io.parquet";
        for name in ["manifest.json", "verdict.json", io] {
            let same = fs::read(run.join(name)).unwrap() == fs::read(original.join(name)).unwrap();
            assert!(same, "{name} of {host} is not whole");
        }
    }
}

#[test]
fn copies_are_taken_whole_or_not_at_all_whenever_the_program_is_killed() {
    let bench = Bench::aside();
    let place = in_memory();
    let copies = place.path().join("copies");
    for host in 0..HOSTS {
        write_run(&copies.join(node(host)), host, "kept");
    }
    fs::create_dir_all(copies.join("node99999/run")).unwrap();
    fs::write(copies.join("node99999/run/verdict.json"), "{\"schema\": 1").unwrap();
    let out = place.path().join("fleet");
    let words =
        ["collect", out.to_str().unwrap(), "--collect-from", copies.to_str().unwrap(), "--json"];
    for kill in 0..KILLS {
        let mut command = bench.program();
        command.arg("fleet").args(words);
        let mut running = Running::start(command, bench.folder(), bench.out());
        // The first one while it still looks through the copies.
        let enough = kill * HOSTS / KILLS;
        let is_there = || out.exists() && taken(&out).len() >= enough;
        while !running.has_ended() && !is_there() {
            std::thread::sleep(Duration::from_micros(200));
        }
        running.kill_if_alive();
        assert_whole(&out, &copies);
        if out.join("fleet.json").exists() {
            assert_eq!(json(&out.join("fleet.json"))["schema"], 1);
        }
    }
    let last = fleet(&bench, place.path(), &words, None);
    assert_eq!(last.code, Some(0), "{}", last.stderr);
    assert!(last.stderr.contains("not taken") && last.stderr.contains("node99999/run"));
    assert_whole(&out, &copies);
    let result: Value = merged(&out);
    let promise = result["trials"][0]["promises"][0]["hosts"].as_array().unwrap();
    let mut rates: Vec<f64> =
        promise.iter().map(|one| one["total_rate"].as_f64().unwrap()).collect();
    rates.sort_by(f64::total_cmp);
    assert_eq!(rates, (0..HOSTS).map(rate).collect::<Vec<_>>(), "each once, and none lost");
    assert!(!out.join("incoming").exists());
}
