//! Workloads with a placement: their observed placement.

use assay_test_support::Need;
use serde_json::Value;

use crate::bench::Bench;
use crate::notebook::recomputed;
use crate::running::json;

const NEEDS: [Need; 2] = [Need::Tool("fio"), Need::Controller("cpu")];

/// Two groups that compute on CPU 0; memory that names a node, huge pages that are off.
const STUDY: &str = r#"
title = "Places in a test"
[design]
repeats = 2
at_most = "2 s"
[[groups]]
name = "task"
count = 2
run = "compute"
place = { cpus = "0", memory = "bind:0", huge_pages = "never" }
[workloads.compute]
use = "fio"
args = { ioengine = "cpuio", cpuload = 100 }
[[promises]]
measure = "threads"
is = "placed"
within = "20 %"
"#;

#[test]
fn threads_and_pages_are_observed_where_the_study_places_them() {
    let Some(bench) = Bench::measured("places", &NEEDS) else { return };
    let path = bench.write("place.toml", STUDY);
    let ended = bench.run(&path, &["-ojson"]);
    bench.assert_host_is_as_before("after the run");
    recomputed(&bench);
    let manifest = json(&bench.out().join("manifest.json"));
    let one_cpu = manifest["host"]["cpus"]["allowed"] == "0";
    let placements = manifest["trials"][0]["repeats"][0]["placements"].as_array().unwrap();
    assert_eq!(placements.len(), 2, "{placements:#?}");
    for placed in placements {
        let samples = placed["samples"].as_u64().unwrap();
        assert!(samples > 0 && placed["on_cpus"] == samples, "{placed:#}");
        assert_eq!(placed["allowed_cpus"].as_object().unwrap().keys().next().unwrap(), "0");
        let policies = placed["policies"].as_object().unwrap();
        assert_eq!(policies.keys().collect::<Vec<_>>(), ["bind:0"], "{placed:#}");
        let pages = placed["pages"]["value"].as_object().unwrap();
        assert_eq!(pages.keys().collect::<Vec<_>>(), ["0"], "{placed:#}");
        let huge = placed["huge_pages"].as_object().unwrap();
        assert!(!huge.contains_key("1"), "{placed:#}");
    }
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    let promise = &verdict["trials"][0]["promises"][0];
    assert_eq!(promise["verdict"], if one_cpu { "void" } else { "undecided" }, "{promise:#}");
    assert!(one_cpu || promise["was"]["verdict"] == "kept", "{promise:#}");
}
