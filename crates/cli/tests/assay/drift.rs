//! A knob of a run is changed by another program during the run, and changed back.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::bench::Bench;
use crate::running::json;
use assay_test_support::Need;

const NEEDS: [Need; 3] = [Need::Tool("fio"), Need::Controller("cpu"), Need::Controller("cpuset")];

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
fn a_weight_changed_and_changed_back_voids_its_promise() {
    let Some(bench) = Bench::with("drift of a knob", &NEEDS) else { return };
    let options = ["--set", "groups=2", "--duration", "5s", "--repeats", "1", "-ojson"];
    let mut running = bench.start(Path::new("cpu-weight"), &options);
    running.wait_until("the window", |run| run.says("run"));
    let run = u32::try_from(running.pid().as_raw_nonzero().get()).unwrap();
    let file = weight_file(Path::new("/sys/fs/cgroup"), run, "task2").unwrap();
    let before = fs::read_to_string(&file).unwrap();
    fs::write(&file, "777").unwrap();
    sleep(Duration::from_millis(2500));
    fs::write(&file, before.trim()).unwrap();
    let ended = running.end(Duration::from_secs(120));
    ended.assert_code(3);
    bench.assert_host_is_as_before("after the run");

    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    let promise = &verdict["trials"][0]["promises"][0];
    assert_eq!(promise["verdict"], "void", "{promise:#}");
    let reason = promise["reason"].as_str().unwrap();
    for part in ["`knobs`", "`task2`", "`777`", "after the start"] {
        assert!(reason.contains(part), "no {part} in {reason}");
    }
    assert_eq!(promise["causes"][0]["code"], "C-KNOB-DRIFT");

    let manifest = json(&bench.out().join("manifest.json"));
    let repeat = &manifest["trials"][0]["repeats"][0];
    let knobs = repeat["knobs"].as_array().unwrap();
    let knob = |group: &str| {
        knobs.iter().find(|knob| knob["group"] == group && knob["knob"] == "cpu.weight").unwrap()
    };
    assert_eq!(
        knob("task2")["at_start"],
        knob("task2")["at_end"],
        "the knob was written back in time"
    );
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let drift = &knob("task2")["drift"][name.as_str()];
    assert_eq!(drift["first"]["value"]["value"], "777", "{drift:#}");
    assert!(drift["readings"].as_u64().unwrap() >= 1, "{drift:#}");
    assert!(knob("task1")["drift"].as_object().is_none_or(serde_json::Map::is_empty));
    assert!(repeat["watch"]["rounds"].as_u64().unwrap() >= 2, "{}", repeat["watch"]);
}
