//! Studies that change settings of the host: read back, watched, restored exactly, also after SIGKILL.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use assay_test_support::Need;
use serde_json::Value;

use crate::bench::Bench;
use crate::running::json;

const NEEDS: [Need; 2] = [Need::Tool("fio"), Need::Controller("cpu")];

/// Values that no host has by default; a window of some seconds.
const STUDY: &str = r#"
title = "Settings in a test"
drop_caches = 2
[sysctls]
"vm.dirty_ratio" = 0
"vm.dirty_bytes" = "300 MiB"
"vm.dirty_writeback_centisecs" = "{centisecs}"
"vm.swappiness" = 37
[thp]
"khugepaged/pages_to_scan" = 4095
[factors]
centisecs = [491]
[design]
repeats = 1
at_most = "5 s"
[[groups]]
name = "task"
count = 2
knobs = { "cpu.weight" = 100 }
run = "compute"
[workloads.compute]
use = "fio"
args = { ioengine = "cpuio", cpuload = 100 }
[[promises]]
measure = "cpu.time"
is = "equal"
within = "50 %"
"#;

fn vm(name: &str) -> String {
    fs::read_to_string(Path::new("/proc/sys/vm").join(name)).unwrap().trim().to_owned()
}

fn check(verdict: &Value) -> Value {
    let checks = verdict["trials"][0]["validity"].as_array().unwrap();
    checks.iter().find(|check| check["check"] == "settings").unwrap().clone()
}

#[test]
fn settings_hold_during_the_window_and_are_restored_after_it() {
    let Some(bench) = Bench::with("settings of the host", &NEEDS) else { return };
    let study = bench.write("settings.toml", STUDY);
    let ratio = vm("dirty_ratio");
    let mut running = bench.start(&study, &["--duration", "2s", "-ojson"]);
    running.wait_until("the window", |run| run.says("run"));
    assert_eq!((vm("dirty_bytes").as_str(), vm("dirty_ratio").as_str()), ("314572800", "0"));
    assert_eq!(
        (vm("swappiness").as_str(), vm("dirty_writeback_centisecs").as_str()),
        ("37", "491")
    );
    let ended = running.end(Duration::from_secs(120));
    bench.assert_host_is_as_before("after the run");

    let check = check(&serde_json::from_str(&ended.stdout).unwrap());
    assert_eq!(check["ok"], true, "{check:#}");
    assert!(check["evidence"].as_str().unwrap().contains("vm.dirty_bytes = 314572800"));
    let manifest = json(&bench.out().join("manifest.json"));
    let repeat = &manifest["trials"][0]["repeats"][0];
    let readings = repeat["settings"].as_array().unwrap();
    assert_eq!(readings.len(), 5, "{readings:#?}");
    assert_eq!(readings[0]["found"]["value"], ratio.as_str());
    assert_eq!(readings[0]["at_start"]["value"], "0", "its rival made it so");
    assert_eq!(repeat["dropped"]["what"], 2);
    let changes = manifest["changes"].as_array().unwrap();
    let written: Vec<&str> = changes.iter().filter_map(|change| change["what"].as_str()).collect();
    assert!(written.contains(&"write /proc/sys/vm/dirty_bytes"), "{written:?}");
    assert!(!written.contains(&"write /proc/sys/vm/dirty_ratio"), "{written:?}");
}

#[test]
fn a_setting_changed_by_others_mid_run_voids_and_is_restored() {
    let Some(bench) = Bench::with("drift of a setting", &NEEDS) else { return };
    let study = bench.write("settings.toml", STUDY);
    let mut running = bench.start(&study, &["-ojson"]);
    running.wait_until("the window", |run| run.says("run"));
    fs::write("/proc/sys/vm/swappiness", "38").unwrap();
    sleep(Duration::from_millis(2500));
    fs::write("/proc/sys/vm/swappiness", "37").unwrap();
    let ended = running.end(Duration::from_secs(120));
    ended.assert_code(3);
    bench.assert_host_is_as_before("after the run");
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    let promise = &verdict["trials"][0]["promises"][0];
    let causes = promise["causes"].as_array().unwrap();
    assert!(causes.iter().any(|cause| cause["code"] == "C-SETTING-DRIFT"), "{promise:#}");
    let reason = promise["reason"].as_str().unwrap();
    assert!(reason.contains("`vm.swappiness` read `38`"), "{reason}");
}

#[test]
fn settings_of_a_killed_run_are_restored() {
    let Some(bench) = Bench::with("settings of a killed run", &NEEDS) else { return };
    let study = bench.write("settings.toml", STUDY);
    let mut running = bench.start(&study, &[]);
    running.wait_until("the window", |run| run.says("run"));
    running.kill();
    assert_eq!(vm("dirty_bytes"), "314572800", "nobody has put it back yet");
    bench.assay(["restore"]).assert_code(0);
    bench.assert_host_is_as_before("killed and restored");
}

#[test]
fn a_plan_names_every_setting_and_changes_none() {
    let bench = Bench::aside();
    let study = bench.write("settings.toml", STUDY);
    let checked = bench.assay(["check".as_ref(), study.as_os_str()]);
    for part in ["echo 314572800 > /proc/sys/vm/dirty_bytes", "cannot be restored"] {
        assert!(checked.stdout.contains(part), "no {part} in {}", checked.stdout);
    }
    assert_ne!(vm("swappiness"), "37");
}
