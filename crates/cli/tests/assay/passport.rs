//! `assay conform --kernel`: on the running kernel, and with guests that are lost, lie, or attack, simulated by a script in
//! place of virtme-run.

use std::fs;

use serde_json::Value;

use crate::bench::Bench;
use crate::documents::assert_document;
use crate::lab::fake::played;
use crate::running::{Ended, json};

const CASES: [&str; 2] = ["fork-above-the-limit-fails", "forks-far-below-the-limit-succeed"];

#[test]
fn the_running_kernel_has_a_passport_that_is_resumed() {
    let Some(bench) = Bench::on_host("a passport of the running kernel") else { return };
    let make = |more: &[&str]| {
        let cases = CASES.map(|case| format!("pids/{case}"));
        let words = ["conform", &cases[0], &cases[1], "--kernel", "host", "--out", "p"];
        bench.assay(words.iter().chain(more))
    };
    let ended = make(&["-ojson"]);
    bench.assert_host_is_as_before("after a passport");
    ended.assert_code(0);
    let passport: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(passport["kernels"][0]["missing"], 0, "{passport:#}");
    assert_eq!(passport["cases"][0]["results"]["host"]["verdict"], "kept", "{passport:#}");
    // The same command has nothing left to do.
    let again = make(&[]);
    again.assert_code(0);
    assert!(!again.stderr.contains("kept"), "{}", again.stderr);
    assert_eq!(json(&bench.path("p/kernels/host.json"))["documents"].as_array().unwrap().len(), 1);
    assert_document(&bench, "passport", &bench.path("p/passport.json"));
    let other = bench.assay(["conform", "--yes", "--kernel", "host", "--out", "p", "--cpus", "3"]);
    other.assert_code(2);
    other.assert_says(&["2 CPUs", "--fresh"]);
}

/// What a guest prints for a case.
fn document(kernel: &str, case: &str, evidence: &str) -> String {
    ended(kernel, case, "kept", evidence)
}

fn ended(kernel: &str, case: &str, verdict: &str, evidence: &str) -> String {
    serde_json::json!({
        "schema": 1, "kernel": kernel, "layout": "v2", "virtual_machine": "QEMU",
        "started_at": "2026-11-26T12:00:00Z", "command": "assay conform", "patience": 3.0, "restored": true,
        "cases": [{"controller": "pids", "behaviour": case, "verdict": verdict, "reason": "",
                   "evidence": [evidence], "seconds": 1.0}],
    })
    .to_string()
}

/// A passport of a guest whose n-th boot runs the n-th script.
fn passport(boots: &[String]) -> (Ended, Value) {
    let mut script = "n=0; [ ! -e \"$0.n\" ] || read -r n <\"$0.n\"; echo $((n + 1)) >\"$0.n\"\n\
                      : >\"$share/reached\"; : >\"$share/ready\"\ncase $n in\n"
        .to_owned();
    for (at, boot) in boots.iter().enumerate() {
        script += &format!("{at})\n{boot}\n;;\n");
    }
    let host = played(&(script + "*) exit 1 ;;\nesac"));
    let mut command = host.command_of("conform");
    command.args(CASES.map(|case| format!("pids/{case}")));
    command.args(["--kernel", "debian-6.12", "--out", "p"]);
    let ended = host.bench.finish(command);
    let text = fs::read_to_string(host.bench.path("p/passport.json")).unwrap();
    (ended, serde_json::from_str(&text).unwrap())
}

fn print(document: &str) -> String {
    format!("cat <<'END'\n{document}\nEND")
}

const RELEASE: &str = "6.12.9-amd64";

#[test]
fn a_lost_guest_costs_only_what_it_had_not_sent() {
    let [first, second] = CASES.map(|case| print(&document(RELEASE, case, "all went well")));
    let dies =
        format!("{first}\necho '[ 9.1] Kernel panic - not syncing: oh' >\"$console\"; exit 1");
    let goes_on = format!("{second}\necho 0 >\"$share/exit\"");
    let (ended, passport) = passport(&[dies, goes_on]);
    ended.assert_code(0);
    let kernel = &passport["kernels"][0];
    assert_eq!(kernel["missing"], 0, "{passport:#}");
    let lost = kernel["lost"][0].as_str().unwrap();
    assert!(lost.contains("Kernel panic") && lost.contains(CASES[1]), "{lost}");
    assert_eq!(entries_of(&passport), ["kept", "kept"]);
}

fn entries_of(passport: &Value) -> Vec<&str> {
    let cases = passport["cases"].as_array().unwrap();
    cases.iter().filter_map(|case| case["results"]["debian-6.12"]["verdict"].as_str()).collect()
}

#[test]
fn what_the_first_guest_broke_runs_in_a_second_one_even_if_that_is_every_case() {
    let breaks = CASES.map(|case| print(&ended(RELEASE, case, "broken", "0 %"))).join("\n");
    let breaks = format!("{breaks}\necho 1 >\"$share/exit\"");
    let keeps = CASES.map(|case| print(&ended(RELEASE, case, "kept", "0 %"))).join("\n");
    let (twice, confirmed) = passport(&[breaks.clone(), breaks.clone()]);
    twice.assert_code(1);
    assert_eq!(entries_of(&confirmed), ["broken", "broken"]);
    let (once, refuted) = passport(&[breaks, format!("{keeps}\necho 0 >\"$share/exit\"")]);
    once.assert_code(3);
    assert_eq!(entries_of(&refuted), ["undecided", "undecided"]);
    let boots = refuted["kernels"][0]["boots"].as_array().unwrap();
    assert_eq!(boots.len(), 2, "{refuted:#}");
}

#[test]
fn a_guest_that_always_dies_leaves_missing_results_and_ends() {
    let dies = "exit 1".to_owned();
    let (ended, passport) = passport(&[dies.clone(), dies.clone(), dies]);
    ended.assert_code(3);
    assert_eq!(passport["kernels"][0]["missing"], 2, "{passport:#}");
    assert!(ended.stdout.contains("2 cases have no result"), "{}", ended.stdout);
}

#[test]
fn a_guest_cannot_speak_for_another_kernel_nor_to_the_terminal() {
    let lies = print(&document("6.18.44", CASES[0], "a lie"));
    let attacks = print(&document(RELEASE, CASES[1], "</p><script>alert(1)</script>\u{1b}[2J"));
    let ends = "echo 0 >\"$share/exit\"";
    let (ended, passport) = passport(&[format!("{lies}\n{attacks}\n{ends}"), ends.to_owned()]);
    ended.assert_code(3);
    ended.assert_says(&["the guest says that it is Linux 6.18.44"]);
    assert_eq!(entries_of(&passport), ["kept"]);
    assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
}
