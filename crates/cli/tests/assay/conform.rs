//! `assay conform` on the real kernel: verdicts, exit codes, and a restored host.

use serde_json::Value;

use crate::bench::Bench;
use assay_test_support::Need;

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn verdicts(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let cases = document["cases"].as_array().unwrap();
    cases
        .iter()
        .map(|case| {
            let name = format!("{}/{}", text(&case["controller"]), text(&case["behaviour"]));
            (name, text(&case["verdict"]))
        })
        .collect()
}

/// The exit code for the verdicts of a document.
fn code(document: &Value) -> i32 {
    let verdicts = verdicts(document);
    let any = |word: &str| verdicts.iter().any(|(_, verdict)| verdict == word);
    match () {
        () if any("broken") => 1,
        () if any("undecided") || any("void") => 3,
        () => 0,
    }
}

#[test]
fn cases_independent_of_load_are_kept_and_restore_the_host() {
    let Some(bench) = Bench::on_host("conformance of the kernel") else { return };
    let ended = bench.assay(["conform", "core", "pids", "freezer", "cpuset", "-ojson"]);
    bench.assert_host_is_as_before("after conform");
    let document = document(&ended.stdout);
    ended.assert_code(code(&document));
    assert_eq!((&document["schema"], &document["restored"]), (&1.into(), &true.into()));
    let verdicts = verdicts(&document);
    assert!(verdicts.len() > 30, "{verdicts:?}");
    // Refusals, limits and threads do not depend on how busy the machine is.
    for case in document["cases"].as_array().unwrap() {
        assert_ne!(case["verdict"], "broken", "{case:#}");
        let (reason, evidence) = (case["reason"].as_str().unwrap(), &case["evidence"]);
        match case["verdict"].as_str().unwrap() {
            "kept" => assert!(!evidence.as_array().unwrap().is_empty(), "{case:#}"),
            _ => assert!(!reason.is_empty(), "nothing may be unexplained: {case:#}"),
        }
    }
    assert!(verdicts.iter().any(|(_, verdict)| verdict == "kept"), "{verdicts:?}");
}

#[test]
fn a_saturated_cpu_and_one_with_room_are_never_called_broken() {
    let Some(bench) = Bench::measured("conformance of cpu weights", &[Need::Controller("cpu")])
    else {
        return;
    };
    let ended = bench.assay([
        "conform",
        "weights-divide-a-saturated-cpu",
        "weights-do-nothing-on-a-cpu-with-room",
        "cpu/usage-is-the-time-of-its-threads",
    ]);
    bench.assert_host_is_as_before("after conform");
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{ended:?}");
    assert!(ended.stdout.contains("3 cases: "), "{}", ended.stdout);
    assert!(ended.stderr.contains("cpu/weights-divide-a-saturated-cpu ("), "{}", ended.stderr);
}
