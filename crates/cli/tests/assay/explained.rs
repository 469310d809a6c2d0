//! `assay diagnose` on a real run: one change at a time, round by round, until a cause is found.

use std::path::Path;
use std::time::Duration;

use assay_test_support::{Fault, Named, Outcome, skip};
use serde_json::Value;

use crate::bench::Bench;
use crate::running::{Running, json};

const TEST: &str = "explaining a pool of 32 requests";

/// Runs with the fault until one is outside, at most.
const INJECTED: usize = 4;

const LONGEST: Duration = Duration::from_secs(400);

/// Whether a promise is void because of a check that only a busy host fails. An undecided promise does not
/// indicate a busy host.
fn is_too_busy(fault: &Fault, judged: &Value) -> bool {
    let causes = judged["causes"].as_array().into_iter().flatten();
    let outcome = Outcome {
        verdict: judged["verdict"].as_str().unwrap().to_owned(),
        causes: causes.map(|cause| cause["code"].as_str().unwrap().to_owned()).collect(),
        explained: Vec::new(),
    };
    outcome.verdict == "void" && fault.named(&outcome) == Named::TooBusy
}

fn first_promise(run: &Path, trial: usize) -> Value {
    json(&run.join("verdict.json"))["trials"][trial]["promises"][0].take()
}

/// Sixteen groups keep twice as many requests as the pool holds, and all but the heaviest starve in every
/// round.
#[test]
fn more_requests_for_groups_that_starve_of_them_are_confirmed_round_by_round() {
    let Some(bench) = Bench::alone(TEST) else { return };
    let assay = bench.executable();
    let faults = Fault::all().unwrap();
    let fault = faults.iter().find(|fault| fault.name == "requests-32").unwrap();
    let inject = |number: usize| {
        let folder = bench.path(&format!("injected-{number}"));
        std::fs::create_dir(&folder).unwrap();
        let run = fault.inject(assay, &folder, &|| false).unwrap();
        let judged = first_promise(&run, 0);
        (run, judged)
    };
    let tells =
        |judged: &Value| judged["verdict"] == "void" || judged["was"]["verdict"] == "broken";
    let found = (1..=INJECTED).map(inject).find(|(_, judged)| tells(judged));
    let (run, judged) = found.expect("inside each time");
    if is_too_busy(fault, &judged) {
        skip(TEST, &format!("a busy host: {}", judged["reason"]));
        return;
    }
    assert_eq!(judged["was"]["verdict"], "broken", "{judged:#}");
    let out = bench.path("explained");
    let mut command = bench.program();
    command.args(["diagnose", "--yes"]).arg(&run).args([
        "--only",
        "requests",
        "--duration",
        "2s",
        "--out",
    ]);
    command.arg(&out);
    // At most twelve rounds of two repeats, each with set-up and restore.
    let ended = Running::start(command, bench.folder(), out.clone()).end(LONGEST);
    bench.assert_host_is_as_before("after an explanation");
    assert!(ended.stderr.contains("in 4 to 8 rounds"), "{}", ended.stderr);
    for trial in [0, 1] {
        let judged = first_promise(&out, trial);
        if is_too_busy(fault, &judged) {
            skip(TEST, &format!("a busy host: {}", judged["reason"]));
            return;
        }
    }
    let predictions = json(&out.join("predictions.json"));
    assert!(
        predictions.as_array().unwrap().iter().any(|law| law["arm"] == "requests"),
        "{predictions:#}"
    );
    crate::documents::assert_document(&bench, "explain", &out.join("explain.json"));
    let found = json(&out.join("explain.json"));
    let arm = &found["arms"][0];
    assert_eq!(arm["name"], "requests", "{found:#}");
    let manifest = json(&out.join("manifest.json"));
    let rounds = |trial: usize| manifest["trials"][trial]["repeats"].as_array().unwrap().len();
    // A change that seems to help is confirmed by two fresh rounds, which are judged separately.
    let fresh = if arm["confirmed"].is_boolean() { 2 } else { 0 };
    let ordinary = rounds(1) - fresh;
    assert!((4..=8).contains(&(rounds(0) - fresh)) && rounds(1) <= rounds(0), "{arm:#}");
    // Rounds of which both repeats count: a repeat in which the hypervisor took too much is left out.
    let counted = |repeats: &Value| usize::try_from(repeats.as_u64().unwrap()).unwrap();
    let paired = counted(&arm["rounds"]["rounds"]);
    let all_count =
        [&found["repeats"], &arm["repeats"]].map(counted) == [rounds(0) - fresh, ordinary];
    assert!((1..=ordinary).contains(&paired) && (paired == ordinary || !all_count), "{found:#}");
    assert!(found["verdict"] == "broken" || found["verdict"] == "undecided", "{found:#}");
    // A confirmed or proven cause ends the rounds; otherwise all rounds were run.
    let cause = &found["causes"][0];
    let proven = cause["finding"] == "proven";
    let helped = arm["effect"] == "cured" || arm["effect"] == "lessened";
    assert!(!helped || arm["rounds"]["high"].as_f64().unwrap() < 1.0, "{arm:#}");
    assert!(arm["effect"] != "open" || proven || fresh == 2 || ordinary == 8, "{found:#}");
    // The error may also stay as large: with four times the requests BFQ moves groups between states, of which some
    // get a twentieth of their promise for seconds. Only an error that fell in fresh rounds is confirmed.
    assert!(arm["effect"] != "worsened", "{arm:#}");
    let confirmed = cause["finding"] == "confirmed";
    assert!(!confirmed || helped && arm["confirmed"] == true, "{found:#}");
    assert!(!confirmed || fault.named.iter().any(|code| cause["code"] == code.as_str()));
    let known = confirmed || proven;
    assert_eq!(ended.status.code(), Some(if known { 0 } else { 3 }), "{}", ended.stderr);
}
