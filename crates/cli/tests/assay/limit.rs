//! Limits on memory: the check whether they were reached, and promises across their levels.

use std::fs;

use serde_json::Value;

use crate::bench::Bench;
use crate::running::json;
use assay_test_support::Need;

/// A file of 48 MiB that is read repeatedly, under a limit below its size and one far above.
const STUDY: &str = r#"
title = "A limit on the page cache in a test"

[factors]
limit = ["24 MiB", "300 MiB"]

[design]
repeats = 8
warm_up = "100 ms"
at_most = "1500 ms"

[disks.scratch]
use = "loop"
size = "96 MiB"
format = "ext4"

[[groups]]
name = "box"
knobs = { "memory.max" = "{limit}" }
run = "reader"

[workloads.reader]
use = "command"
command = ["sh", "-c", "echo 40 apples; while :; do cat {directory}/file >/dev/null; done"]
metrics = { apples = { pattern = "([0-9]+) apples" } }
prepare = "writer"

[workloads.writer]
use = "command"
command = ["dd", "if=/dev/zero", "of={directory}/file", "bs=1M", "count=48", "conv=fsync"]

[[promises]]
measure = "reader.apples"
is = "equal"
over = "limit"
within = "10 %"

[[promises]]
measure = "memory.current"
is = "ratio"
of = { limit = "300 MiB" }
to = { limit = "24 MiB" }
at_least = 1.2

[[references]]
what = "apples of somebody else"
value = 41
unit = "apples"
source = "hearsay"
measure = "reader.apples"
under = { limit = "24 MiB" }
"#;

#[test]
fn limits_show_whether_they_bound_and_their_levels_are_compared() {
    let needs = [Need::Loop, Need::Tool("mkfs.ext4"), Need::Controller("memory")];
    let Some(bench) = Bench::with("a limit that binds", &needs) else { return };
    let ended = bench.run(&bench.write("study.toml", STUDY), &[]);
    bench.assert_host_is_as_before("after the run");
    let verdict: Value = json(&bench.out().join("verdict.json"));

    let fact = |trial: usize| -> String {
        let checks = verdict["trials"][trial]["facts"].as_array().unwrap();
        let check = checks.iter().find(|fact| fact["fact"] == "limit").unwrap();
        check["evidence"].as_str().unwrap().to_owned()
    };
    assert!(fact(0).starts_with("`box` bound: limit 24.0 MiB"), "{}", fact(0));
    assert!(fact(1).starts_with("`box` did not bind: limit 300.0 MiB"), "{}", fact(1));

    // The same number in eight starts is equal, to one unit of it.
    let equal = &verdict["comparisons"][0];
    assert_eq!(equal["verdict"], "kept", "{equal:#}");
    assert_eq!((&equal["is"], &equal["pairs"][0]["repeats"]), (&"equal".into(), &8.into()));
    assert_eq!(equal["levels"][0]["value"].as_f64().map(f64::round), Some(40.0), "{equal:#}");
    // The amounts depend on the kernel; only assert that both are known.
    let ratio = &verdict["comparisons"][1];
    assert!(ratio["pairs"][0]["ratio"].as_f64().is_some_and(|ratio| ratio > 1.2), "{ratio:#}");
    let ours = &verdict["references"][0]["ours"];
    assert_eq!(ours[0]["factors"]["limit"], "24 MiB", "{ours:#}");

    for text in ["memory limit: `box` bound", "reader.apples over limit", "41 apples; this run: 40"]
    {
        assert!(ended.stdout.contains(text), "{text}\n{}", ended.stdout);
    }
    let html = fs::read_to_string(bench.out().join("report.html")).unwrap();
    assert!(html.contains("comparison-1-levels-spec") && html.contains("Memory limits"));
}

#[test]
fn a_part_of_an_unknown_footprint_is_refused_before_anything_is_changed() {
    let bench = Bench::aside();
    let text = STUDY.replace("\"{limit}\" }", "\"0.5 footprint\" }");
    let text = text.replace("count=48", "count={limit}");
    let ended = bench.run(&bench.write("study.toml", &text), &[]);
    ended.assert_code(4);
    ended.assert_says(&[
        "`reader` cannot predict its footprint",
        "in bytes",
        "nothing was touched",
    ]);
    assert!(!bench.out().exists());
}
