//! Faults injected into real runs: each must be ranked first among the causes. Other load must not matter,
//! so only faults that a check proves are here; faults visible only in shares are in the tests of `judge`.

use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;
use crate::documents::assert_document;
use crate::running::json;
use crate::study::{Weights, loop_disk_with_ext4};

fn first_cause(run: &Path) -> String {
    let verdict = json(&run.join("verdict.json"));
    let promise = &verdict["trials"][0]["promises"][0];
    assert_eq!(promise["verdict"], "void", "{promise:#}");
    promise["causes"][0]["code"].as_str().unwrap_or("none").to_owned()
}

/// Four groups that read files of 4 MiB repeatedly from the page cache.
fn cached() -> Weights {
    Weights {
        disk: loop_disk_with_ext4(128, 1),
        at_most: "3 s",
        workload: "use = \"fio\"\nargs = { rw = \"read\", bs = \"64k\", ioengine = \"psync\", \
                   direct = 0, invalidate = 0, size = \"4 MiB\" }"
            .to_owned(),
        ..Weights::small()
    }
}

#[test]
fn reading_from_the_page_cache_is_ranked_first_and_explained() {
    let Some(bench) = Bench::on_host("the page cache instead of the disk") else { return };
    let ended = bench.run(&bench.write("study.toml", &cached().text()), &[]);
    ended.assert_code(3);
    assert_eq!(first_cause(&bench.out()), "C-PAGE-CACHE");

    let refused = bench.assay(["diagnose", "run", "--yes", "--only", "C-NOTHING"]);
    refused.assert_code(2);
    refused.assert_says(&["`C-NOTHING`", "assay explain"]);
    bench.assert_host_is_as_before("after a refusal");
    let out = bench.path("explained");
    let explained = bench.assay([
        "diagnose".as_ref(),
        "--yes".as_ref(),
        bench.out().as_os_str(),
        "--duration".as_ref(),
        "2s".as_ref(),
        "--rounds".as_ref(),
        "1".as_ref(),
        "--only".as_ref(),
        "C-PAGE-CACHE".as_ref(),
        "--out".as_ref(),
        out.as_os_str(),
        "-ojson".as_ref(),
    ]);
    explained.assert_code(0);
    bench.assert_host_is_as_before("after the interventions");
    let found: Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(found, json(&out.join("explain.json")));
    assert_document(&bench, "explain", &out.join("explain.json"));
    assert_eq!(found["causes"][0]["code"], "C-PAGE-CACHE", "{found:#}");
    assert_eq!(found["causes"][0]["finding"], "proven", "{found:#}");
    assert_eq!(found["arms"][0]["name"], "direct", "{found:#}");
    let predictions = json(&out.join("predictions.json"));
    assert_eq!(predictions[0]["cause"], "C-PAGE-CACHE", "{predictions:#}");
    assert_eq!(predictions[0]["expect"], "vanishes", "{predictions:#}");
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.contains("direct = 1"), "{sentence}");
    // With direct I/O the disk transfers what the workloads report, whatever else fails.
    let verdict = json(&out.join("verdict.json"));
    let holds = |trial: &Value| {
        let checks = trial["validity"].as_array().unwrap();
        checks.iter().find(|check| check["check"] == "page-cache").unwrap()["ok"] == true
    };
    let trials = verdict["trials"].as_array().unwrap();
    assert_eq!(trials[0]["factors"]["changed"], "unchanged");
    assert!(!holds(&trials[0]) && holds(&trials[1]), "{trials:#?}");
}

#[test]
fn files_of_a_trial_with_many_groups_leave_space_for_a_trial_with_few() {
    let Some(bench) = Bench::on_host("trials of different sizes on one file system") else {
        return;
    };
    let text = cached().text().replace("count = 4", "count = \"{groups}\"");
    let text = text.replace("size = \"4 MiB\"", "size = \"1/{groups}\"");
    let text = text.replace("partitions = 1", "partitions = 0");
    let factors = "order = \"given\"\n[factors]\ngroups = [8, 2, 4]\n[disks.scratch]";
    let study = bench.write("study.toml", &text.replace("[disks.scratch]", factors));
    let ended = bench.run(&study, &["--duration", "1s"]);
    assert!(matches!(ended.status.code(), Some(0 | 1 | 3)), "{ended:?}");
    let manifest = json(&bench.out().join("manifest.json"));
    for trial in manifest["trials"].as_array().unwrap() {
        assert!(trial["repeats"][0]["fault"].is_null(), "{:#}", trial["repeats"][0]["fault"]);
    }
    bench.assert_host_is_as_before("after trials of different sizes");
}
