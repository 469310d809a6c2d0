//! The shipped study of memory protections: a verdict if the kernel protects memory, otherwise a refusal
//! with a remedy.

use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;
use crate::notebook::recomputed;
use assay_test_support::{Need, skip};

fn host(bench: &Bench) -> Value {
    serde_json::from_str(&bench.assay(["host", "-ojson"]).stdout).unwrap()
}

fn memory_is_on_v1(bench: &Bench) -> bool {
    let hierarchy = &host(bench)["facts"]["cgroup"]["controllers"]["memory"]["hierarchy"];
    hierarchy.to_string().contains("v1")
}

#[test]
fn on_v1_it_is_refused_with_the_reason_and_the_guest_that_can() {
    let bench = Bench::aside();
    if !memory_is_on_v1(&bench) {
        return skip("memory protection on v1", "the controller `memory` is not on v1 here");
    }
    let ended = bench.run(Path::new("memory-protection"), &[]);
    ended.assert_code(4);
    ended.assert_says(&[
        "`memory.low` exists on cgroup v2 only",
        "v1 protects no memory",
        "assay lab run STUDY --cgroup v2",
        "nothing was touched",
    ]);
    assert!(!bench.out().exists());
}

#[test]
fn on_v2_a_protected_group_keeps_its_memory_or_the_verdict_has_a_reason() {
    let needs =
        [Need::Loop, Need::Tool("fio"), Need::Tool("mkfs.ext4"), Need::Controller("memory")];
    let Some(bench) = Bench::with("memory protection", &needs) else { return };
    if memory_is_on_v1(&bench) {
        return skip("memory protection", "the controller `memory` is on v1 here");
    }
    let ended = bench
        .run(Path::new("memory-protection"), &["--repeats", "2", "--duration", "5s", "-ojson"]);
    bench.assert_host_is_as_before("after the run");
    recomputed(&bench);
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    let promise = &verdict["trials"][0]["promises"][0];
    let verdict = promise["verdict"].as_str();
    assert!(matches!(verdict, Some("kept" | "undecided" | "void")), "{promise:#}");
    assert!(!promise["reason"].as_str().unwrap().is_empty(), "{promise:#}");
}
