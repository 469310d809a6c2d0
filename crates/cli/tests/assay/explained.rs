//! `assay explain` on a real run: one thing is changed, round by round, until it is known.

use std::path::Path;
use std::time::Duration;

use assay_testbed::{Fault, skip};

use crate::bench::Bench;
use crate::running::{Running, json};

const TEST: &str = "explaining a pool of 32 requests";

const LONGEST: Duration = Duration::from_secs(400);

/// Sixteen groups want twice what the pool holds, and all but the heaviest starve in every round.
#[test]
fn more_requests_for_groups_that_starve_of_them_are_confirmed_round_by_round() {
    let Some(bench) = Bench::on_host(TEST) else { return };
    let assay = Path::new(env!("CARGO_BIN_EXE_assay"));
    let faults = Fault::all().unwrap();
    let fault = faults.iter().find(|fault| fault.name == "requests-32").unwrap();
    let run = fault.inject(assay, bench.folder(), &|| false).unwrap();
    if json(&run.join("verdict.json"))["trials"][0]["promises"][0]["verdict"] != "broken" {
        skip(TEST, "the host was too busy for a verdict");
        return;
    }
    let out = bench.path("explained");
    let mut command = bench.program();
    command.arg("explain").arg(&run).args(["--only", "requests", "--at-most", "5s", "--out"]);
    command.arg(&out);
    // Eight rounds of two repeats, with all that is made before and taken back after each.
    let ended = Running::start(command, bench.folder(), out.clone()).end(LONGEST);
    bench.assert_host_is_as_before("after an explanation");
    assert!(ended.stderr.contains("in 4 to 8 rounds"), "{}", ended.stderr);
    let said = json(&out.join("predictions.json"));
    assert!(said.as_array().unwrap().iter().any(|law| law["arm"] == "requests"), "{said:#}");
    let found = json(&out.join("explain.json"));
    let arm = &found["arms"][0];
    assert_eq!(arm["name"], "requests", "{found:#}");
    let manifest = json(&out.join("manifest.json"));
    let rounds = |trial: usize| manifest["trials"][trial]["repeats"].as_array().unwrap().len();
    // What seems to help is confirmed by two fresh rounds, which count for themselves.
    let fresh = if arm["confirmed"].is_boolean() { 2 } else { 0 };
    let ordinary = rounds(1) - fresh;
    assert!((4..=8).contains(&(rounds(0) - fresh)) && rounds(1) <= rounds(0), "{arm:#}");
    if ["void", "kept"].iter().any(|verdict| found["verdict"] == *verdict) {
        skip(TEST, &format!("a busy host: {}", found["sentence"]));
        return;
    }
    let known = ["proven", "confirmed"];
    let causes = found["causes"].as_array().unwrap();
    let named = causes.iter().any(|cause| known.iter().any(|known| cause["finding"] == *known));
    assert_eq!(ended.status.code(), Some(if named { 0 } else { 3 }), "{}", ended.stderr);
    if arm["effect"] == "void" {
        skip(TEST, &format!("a busy host: {}", arm["reason"]));
        return;
    }
    assert_eq!(arm["rounds"]["rounds"], ordinary, "{arm:#}");
    // What is sure ends the rounds, and what is not has had all of them.
    let helped = arm["effect"] == "cured" || arm["effect"] == "lessened";
    assert!(!helped || arm["rounds"]["high"].as_f64().unwrap() < 1.0, "{arm:#}");
    assert!(arm["effect"] != "open" || ordinary == 8, "{arm:#}");
}
