//! `assay tune` on the real kernel, with small sizes. Because of other load it may find nothing; its result
//! must follow from its measurements, and the host must be restored.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::bench::Bench;
use crate::running::{Running, json};
use crate::study::Weights;

fn command(bench: &Bench, study: &Path, more: &[&str]) -> std::process::Command {
    let mut command = bench.program();
    command.args(["tune", "--yes"]).arg(study).arg("--out").arg(bench.out()).args(more);
    command
}

fn names(found: &Value, key: &str) -> Vec<String> {
    let all = found[key].as_array().unwrap().iter();
    all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that the exit code follows from the document, and the document from the measurements.
fn assert_follows(found: &Value, code: Option<i32>) {
    let settings = found["settings"].as_array().unwrap();
    assert_eq!(settings[0]["name"], "unchanged", "{found:#}");
    let chosen = settings.iter().find(|one| one["name"] == found["chosen"]);
    match found["outcome"].as_str() {
        Some("found") => {
            assert_eq!(code, Some(0));
            assert_eq!(chosen.unwrap()["confirmation"]["verdict"], "kept", "{found:#}");
        }
        Some("none_keeps") => {
            assert_eq!(code, Some(1));
            for one in settings {
                let data = ["confirmation", "search"].map(|stage| &one[stage]);
                let data = data.into_iter().find(|data| !data.is_null()).unwrap();
                assert_eq!(data["verdict"], "broken", "{found:#}");
            }
        }
        Some("undecided") => assert_eq!((code, chosen), (Some(3), None), "{found:#}"),
        other => panic!("{other:?}: {found:#}"),
    }
}

#[test]
fn a_search_tries_allowed_settings_confirms_by_fresh_repeats_and_restores_the_host() {
    let Some(bench) = Bench::on_host("tune") else { return };
    let study =
        bench.write("study.toml", &Weights { at_most: "1500 ms", ..Weights::small() }.text());
    let more = ["--for", "20s", "--settings", "2", "--fix", "scheduler", "-ojson"];
    let command = command(&bench, &study, &more);
    let ended = Running::start(command, bench.folder(), bench.out()).end(Duration::from_secs(200));
    bench.assert_host_is_as_before("after the search");
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found, json(&bench.out().join("tune.json")));
    assert_follows(&found, ended.status.code());

    // The settings tried; fresh repeats are separate trials.
    assert!(names(&found, "settings").iter().any(|name| name == "nr_requests=1024"), "{found:#}");
    assert!(!names(&found, "not_tried").iter().any(|name| name.starts_with("scheduler")));
    let manifest = json(&bench.out().join("manifest.json"));
    let trials = manifest["trials"].as_array().unwrap();
    let of = |stage: &str, name: &str| {
        trials
            .iter()
            .find(|one| one["factors"]["stage"] == stage && one["factors"]["changed"] == name)
    };
    let (first, fresh) = (of("search", "unchanged"), of("confirmation", "unchanged"));
    assert!(!first.unwrap()["repeats"].as_array().unwrap().is_empty());
    assert!(!fresh.unwrap()["repeats"].as_array().unwrap().is_empty());
    let changed = of("search", "nr_requests=1024").unwrap();
    assert_eq!(changed["repeats"][0]["queues"][0]["at_start"]["nr_requests"], "1024");
    assert_eq!(manifest["restored"], true);

    // The report shows the search, also when it is rewritten.
    let report = bench.out().join("report.html");
    let text = fs::read_to_string(&report).unwrap();
    assert!(text.contains("id=\"tuning\""), "no search in the report");
    fs::remove_file(&report).unwrap();
    bench.assay(["report".as_ref(), bench.out().as_os_str()]).assert_code(0);
    assert_eq!(fs::read_to_string(&report).unwrap(), text);
}
