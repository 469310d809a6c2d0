//! Studies that change settings of the host: read back, watched, restored exactly, also after SIGKILL. Other programs change
//! a setting and a knob meanwhile, and change them back.

use std::fs;
use std::path::{Path, PathBuf};
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

/// The file of a group of the run with this process id that holds its CPU weight.
fn weight_file(below: &Path, run: u32, group: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(below).ok()?.filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for folder in folders.map(|entry| entry.path()) {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        if name.starts_with("assay-") && name.ends_with(&format!("-{run}")) {
            let files = ["cpu.shares", "cpu.weight"].map(|file| folder.join(group).join(file));
            if let Some(file) = files.into_iter().find(|file| file.exists()) {
                return Some(file);
            }
        } else if let Some(file) = weight_file(&folder, run, group) {
            return Some(file);
        }
    }
    None
}

#[test]
fn settings_and_knobs_hold_until_others_change_them_which_voids_and_all_are_restored() {
    let Some(bench) = Bench::with("settings of the host", &NEEDS) else { return };
    let study = bench.write("settings.toml", STUDY);
    let ratio = vm("dirty_ratio");
    let mut running = bench.start(&study, &["-ojson"]);
    running.wait_until("the window", |run| run.says("run"));
    assert_eq!((vm("dirty_bytes").as_str(), vm("dirty_ratio").as_str()), ("314572800", "0"));
    assert_eq!(
        (vm("swappiness").as_str(), vm("dirty_writeback_centisecs").as_str()),
        ("37", "491")
    );
    let run = u32::try_from(running.pid().as_raw_nonzero().get()).unwrap();
    let weight = weight_file(Path::new("/sys/fs/cgroup"), run, "task2").unwrap();
    let before = fs::read_to_string(&weight).unwrap();
    fs::write(&weight, "777").unwrap();
    fs::write("/proc/sys/vm/swappiness", "38").unwrap();
    sleep(Duration::from_millis(2500));
    fs::write("/proc/sys/vm/swappiness", "37").unwrap();
    fs::write(&weight, before.trim()).unwrap();
    let ended = running.end(Duration::from_secs(120));
    ended.assert_code(3);
    bench.assert_host_is_as_before("after the run");

    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    let trial = &verdict["trials"][0];
    assert_eq!(trial["promises"][0]["verdict"], "void", "{trial:#}");
    let causes = trial["promises"][0]["causes"].as_array().unwrap();
    for (check, code, says) in [
        ("settings", "C-SETTING-DRIFT", ["`vm.swappiness` read `38`", ""]),
        ("knobs", "C-KNOB-DRIFT", ["`task2`", "`777`"]),
    ] {
        assert!(causes.iter().any(|cause| cause["code"] == code), "{causes:#?}");
        let checks = trial["validity"].as_array().unwrap();
        let failed = checks.iter().find(|one| one["check"] == check).unwrap();
        let evidence = failed["evidence"].as_str().unwrap();
        assert!(says.iter().all(|text| evidence.contains(text)), "{failed:#}");
    }
    let manifest = json(&bench.out().join("manifest.json"));
    let repeat = &manifest["trials"][0]["repeats"][0];
    let readings = repeat["settings"].as_array().unwrap();
    assert_eq!(readings.len(), 5, "{readings:#?}");
    assert_eq!(readings[0]["found"]["value"], ratio.as_str());
    assert_eq!(readings[0]["at_start"]["value"], "0", "its rival made it so");
    assert_eq!(repeat["dropped"]["what"], 2);
    let knobs = repeat["knobs"].as_array().unwrap();
    let knob = knobs.iter().find(|knob| knob["group"] == "task2").unwrap();
    assert_eq!(knob["at_start"], knob["at_end"], "it was written back in time");
    let drift = &knob["drift"][weight.file_name().unwrap().to_str().unwrap()];
    assert_eq!(drift["first"]["value"]["value"], "777", "{drift:#}");
    assert!(drift["readings"].as_u64().unwrap() >= 1, "{drift:#}");
    assert!(repeat["watch"]["rounds"].as_u64().unwrap() >= 2, "{}", repeat["watch"]);
    let changes = manifest["changes"].as_array().unwrap();
    let written: Vec<&str> = changes.iter().filter_map(|change| change["what"].as_str()).collect();
    assert!(written.contains(&"write /proc/sys/vm/dirty_bytes"), "{written:?}");
    assert!(!written.contains(&"write /proc/sys/vm/dirty_ratio"), "{written:?}");
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
