//! `assay conform` on the real kernel: verdicts, exit codes, and a restored host.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::Bench;
use crate::running::Running;
use assay_test_support::{Need, entries, own};

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

/// Whether a group of this test's `conform` is in any hierarchy at this moment. Its groups live for
/// milliseconds, so this looks at nothing else.
fn has_groups() -> bool {
    let mount = Path::new("/sys/fs/cgroup");
    let mut groups = entries(mount);
    groups.extend(entries(mount).iter().flat_map(|hierarchy| entries(hierarchy)));
    groups.iter().any(|group| own::has(&group.to_string_lossy()))
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
fn results_are_printed_as_ktap() {
    let Some(bench) = Bench::on_host("conformance as KTAP") else { return };
    let ended = bench.assay(["conform", "pids", "-oktap"]);
    bench.assert_host_is_as_before("after conform");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.first(), Some(&"KTAP version 1"), "{}", ended.stdout);
    assert_eq!(lines.last(), Some(&"ok 1 pids"), "{}", ended.stdout);
    let plan = lines.iter().find_map(|line| line.strip_prefix("  1..")).unwrap();
    let is_result = |line: &&&str| line.starts_with("  ok ") || line.starts_with("  not ok ");
    assert_eq!(lines.iter().filter(is_result).count().to_string(), plan, "{}", ended.stdout);
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

#[test]
fn conform_killed_at_any_instant_is_restored() {
    let Some(bench) = Bench::on_host("conform killed") else { return };
    for instant in [0, 2, 5, 9, 14, 20, 30, 45, 70, 100, 160, 250, 400, 700, 1100] {
        let mut command = bench.program();
        command.args(["conform", "core", "pids", "cpuset", "freezer"]);
        let mut running = Running::start(command, bench.folder(), bench.out());
        // Before that it only queries versions of programs and changes nothing.
        running.wait_until("the ledger is begun", |_| {
            !entries(&bench.path("state").join("ledger")).is_empty()
        });
        std::thread::sleep(Duration::from_millis(instant));
        running.kill();
        bench.assay(["restore"]).assert_code(0);
        bench.assert_host_is_as_before(&format!("killed after {instant} ms and restored"));
    }
}

#[test]
fn an_interrupted_conform_restores_the_host() {
    let Some(bench) = Bench::on_host("conform interrupted") else { return };
    let mut command = bench.program();
    command.args(["conform", "freezer", "core", "-ojson"]);
    let mut running = Running::start(command, bench.folder(), bench.out());
    running.wait_until("groups are there", |_| has_groups());
    running.signal_from_terminal(Signal::INT);
    let ended = running.end(Duration::from_secs(30));
    ended.assert_code(130);
    assert_eq!(document(&ended.stdout)["restored"], true);
    bench.assert_host_is_as_before("interrupted");
}

#[test]
fn conform_refuses_to_run_before_a_killed_one_is_restored() {
    let Some(bench) = Bench::on_host("conform over leftovers") else { return };
    let killed = |_| {
        let mut command = bench.program();
        command.args(["conform", "freezer", "core"]);
        let mut running = Running::start(command, bench.folder(), bench.out());
        running.wait_until("groups are there", |_| has_groups());
        running.kill();
        bench.assay(["conform", "pids"])
    };
    // One that is killed between two cases leaves nothing.
    let next = (0..10).map(killed).find(|next| next.status.code() != Some(0)).unwrap();
    next.assert_code(4);
    assert!(next.stderr.contains("assay restore"), "{}", next.stderr);
    bench.assay(["restore"]).assert_code(0);
    bench.assert_host_is_as_before("restored");
}

#[test]
fn the_list_names_every_case_with_its_promise_and_its_document() {
    let bench = Bench::aside();
    let ended = bench.assay(["conform", "pids", "--list"]);
    ended.assert_code(0);
    for text in ["fork-above-the-limit-fails", "fails with EAGAIN.", "(Documentation/"] {
        assert!(ended.stdout.contains(text), "no {text} in\n{}", ended.stdout);
    }
    assert!(!ended.stdout.contains("weights-divide"), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.len() <= 100), "{}", ended.stdout);
}

#[test]
fn an_unknown_controller_is_refused_with_the_known_ones() {
    let bench = Bench::aside();
    let ended = bench.assay(["conform", "cpus"]);
    ended.assert_code(2);
    assert!(ended.stderr.contains("`cpus`") && ended.stderr.contains("pids"), "{}", ended.stderr);
    bench.assay(["conform", "--patience", "0"]).assert_code(2);
}

#[test]
fn probes_are_hidden_and_refuse_unknown_arguments() {
    let bench = Bench::aside();
    assert!(!bench.assay(["--help"]).stdout.contains("probe-process"));
    bench.assay(["probe-process", "dance"]).assert_code(2);
    bench.assay(["probe-process", "spin", "threads=many"]).assert_code(2);
}
