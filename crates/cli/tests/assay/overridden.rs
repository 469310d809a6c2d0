//! Overrides of weights in real runs: another I/O class, a limit of one group, a group with little demand.
//! The recording of overrides is tested here, and the check that each fails must be ranked first, whatever
//! the load of the machine.

use crate::bench::Bench;
use crate::running::json;
use crate::study::loop_disk;

/// Three groups with unlimited demand, the heaviest of which has additional knobs or additional options of
/// fio.
fn study(knobs: &str, options: &str) -> String {
    let disk = loop_disk(64);
    let reader = "rw = \"randread\", bs = \"4k\", ioengine = \"libaio\", iodepth = 8, direct = 1, \
                  size = \"1/4\"";
    format!(
        "title = \"The heaviest group is overridden\"\n[design]\nrepeats = 1\nat_most = \"4 s\"\n\
         [disks.scratch]\n{disk}\n\
         [[groups]]\nname = \"task\"\ncount = 3\nknobs = {{ \"io.weight\" = [100, 200, 400] }}\n\
         run = \"reader\"\n\
         [[groups]]\nname = \"heavy\"\nknobs = {{ \"io.weight\" = 800{knobs} }}\nrun = \"heavy\"\n\
         [workloads.reader]\nuse = \"fio\"\nargs = {{ {reader} }}\n\
         [workloads.heavy]\nuse = \"fio\"\nargs = {{ {reader}{options} }}\n\
         [[promises]]\nmeasure = \"io.bytes\"\nis = \"proportional\"\nto = \"io.weight\"\n\
         within = \"10 %\"\n"
    )
}

/// Causes that a busy host may have in addition.
const OF_A_BUSY_HOST: [&str; 5] =
    ["C-CPU", "C-STEAL", "C-DISK-OTHERS", "C-LATE-START", "C-NOT-BACKLOGGED"];

/// Runs the study and asserts that the check `name` fails with this evidence and that its cause is ranked
/// first.
fn assert_named(test: &str, study: &str, name: &str, code: &str, evidence: &str) {
    let Some(bench) = Bench::on_host(test) else { return };
    bench.run(&bench.write("study.toml", study), &[]).assert_code(3);
    bench.assert_host_is_as_before("after the run");
    let verdict = json(&bench.out().join("verdict.json"));
    let trial = &verdict["trials"][0];
    let checks = trial["validity"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == name);
    let check = check.unwrap_or_else(|| panic!("no check `{name}`: {checks:#?}"));
    let recorded = check["evidence"].as_str().unwrap();
    assert!(check["ok"] == false && recorded.contains(evidence), "{check:#}");
    let causes = trial["promises"][0]["causes"].as_array().unwrap();
    let codes: Vec<&str> = causes.iter().filter_map(|cause| cause["code"].as_str()).collect();
    let first = codes.iter().find(|code| !OF_A_BUSY_HOST.contains(code));
    assert_eq!(first, Some(&code), "{codes:?}");
}

#[test]
fn an_io_class_in_one_group_is_ranked_first() {
    let study = study("", ", prioclass = 3");
    let evidence = "`heavy` has threads of the I/O class idle";
    assert_named("an I/O class", &study, "priority", "C-IO-PRIORITY", evidence);
}

#[test]
fn a_limit_of_one_group_is_ranked_first() {
    let study = study(", \"io.max\" = \"riops=300\"", "");
    let evidence = "of `heavy` allows 300 requests a second";
    assert_named("a limit of one group", &study, "io-limit", "C-IO-LIMIT", evidence);
}

#[test]
fn a_group_with_think_time_is_ranked_first() {
    let study = study("", ", thinktime = 20000");
    let evidence = "`heavy` kept";
    assert_named("a group that thinks", &study, "demand", "C-DEMAND", evidence);
}
