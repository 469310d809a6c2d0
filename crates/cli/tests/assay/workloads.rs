//! Workloads other than fio: generators, tools and commands start at a common barrier, prepare their data,
//! start one after another, and leave their metrics in the run folder.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;
use crate::running::{Ended, json};
use assay_test_support::{Need, skip};

/// A study of these groups and workloads; `design` and `disks` are lines of their tables.
fn study(design: &str, disk: &str, rest: &str) -> String {
    let disk = if disk.is_empty() { String::new() } else { format!("[disks.scratch]\n{disk}\n") };
    format!(
        "title = \"Workloads in a test\"\n[design]\nwarm_up = \"100 ms\"\n{design}\n{disk}{rest}\n\
         [[promises]]\nmeasure = \"cpu.time\"\nis = \"at_least\"\nvalue = 0.000001\n\
         within = \"10 %\"\n"
    )
}

const EXT4: &str = "use = \"loop\"\nsize = \"48 MiB\"\nformat = \"ext4\"";

/// For tests of generators: the second binary is next to the first one, if it was built.
fn with_generators(test: &str, needs: &[Need]) -> Option<Bench> {
    let beside = Path::new(env!("CARGO_BIN_EXE_assay")).with_file_name("assay-load");
    if !beside.is_file() {
        skip(test, "assay-load was not built: cd loadgen && cargo build");
        return None;
    }
    Bench::with(test, needs)
}

fn run(bench: &Bench, text: &str) -> (Ended, Value) {
    let ended = bench.run(&bench.write("study.toml", text), &[]);
    bench.assert_host_is_as_before("after the run");
    let manifest = bench.out().join("manifest.json");
    assert!(manifest.is_file(), "{}\n{}", ended.stdout, ended.stderr);
    (ended, json(&manifest))
}

fn repeat(manifest: &Value, index: usize) -> &Value {
    &manifest["trials"][0]["repeats"][index]
}

/// The result of the workload with this name in a repeat.
fn result<'m>(manifest: &'m Value, index: usize, name: &str) -> &'m Value {
    let results = repeat(manifest, index)["workloads"].as_array().unwrap();
    let found = results.iter().find(|result| result["workload"] == name);
    found.unwrap_or_else(|| panic!("no `{name}` in {results:#?}"))
}

#[track_caller]
fn metric(result: &Value, name: &str) -> f64 {
    result["metrics"][name].as_f64().unwrap_or_else(|| panic!("no `{name}` in {result:#}"))
}

#[test]
fn generators_and_commands_start_at_one_barrier_and_their_metrics_are_recorded() {
    let test = "workloads at one gate";
    let Some(bench) = with_generators(test, &[Need::Controller("cpu")]) else { return };
    let text = study(
        "repeats = 1\nat_most = \"2 s\"",
        "",
        "[[groups]]\nname = \"spun\"\nrun = \"spin\"\n\
         [[groups]]\nname = \"told\"\nrun = \"shell\"\n\
         [workloads.spin]\nuse = \"spin\"\nargs = { threads = 1 }\n\
         [workloads.shell]\nuse = \"command\"\n\
         command = [\"sh\", \"-c\", \"echo 1.5 ops/s; echo '{\\\"teps\\\": 7}'; \
         while :; do :; done\"]\n\
         metrics = { ops_per_s = { pattern = \"([0-9.]+) ops/s\" }, teps = { json = \"/teps\" }, \
         lost = { json = \"/lost\" } }",
    );
    let (ended, manifest) = run(&bench, &text);
    ended.assert_verdict();
    let (spin, shell) = (result(&manifest, 0, "spun.spin"), result(&manifest, 0, "told.shell"));
    assert!(metric(spin, "steps_per_s") > 0.0 && spin["failure"].is_null(), "{spin:#}");
    assert_eq!((metric(shell, "ops_per_s"), metric(shell, "teps")), (1.5, 7.0));
    assert!(shell["not_available"]["lost"].as_str().unwrap().contains("/lost"), "{shell:#}");
    assert_eq!(spin["began_ns"], repeat(&manifest, 0)["released_ns"], "one gate");
    assert_eq!(spin["began_ns"], shell["began_ns"], "one gate");

    let verdict = json(&bench.out().join("verdict.json"));
    let workloads = &verdict["trials"][0]["workloads"];
    assert_eq!(workloads[1]["name"], "told.shell", "{workloads:#}");
    assert_eq!(
        workloads[1]["metrics"]["ops_per_s"]["repeats"],
        serde_json::json!([1.5]),
        "{workloads:#}"
    );
    assert!(ended.stdout.contains("ops_per_s"), "{}", ended.stdout);
    let html = fs::read_to_string(bench.out().join("report.html")).unwrap();
    assert!(html.contains("steps_per_s") && html.contains("ops_per_s"));
}

#[test]
fn preparations_run_in_the_same_directory_which_is_empty_in_every_repeat() {
    let needs = [Need::Loop, Need::Tool("mkfs.ext4"), Need::Controller("cpu")];
    let Some(bench) = Bench::with("preparations", &needs) else { return };
    let text = study(
        "repeats = 2\nat_most = \"20 s\"",
        EXT4,
        "[[groups]]\nname = \"a\"\nrun = \"use\"\n\
         [workloads.make]\nuse = \"command\"\n\
         command = [\"sh\", \"-c\", \"ls {directory} | wc -l; echo 42 > {directory}/data\"]\n\
         metrics = { files = { pattern = \"([0-9]+)\" } }\n\
         [workloads.add]\nuse = \"command\"\n\
         command = [\"sh\", \"-c\", \"echo 1 >> {directory}/data\"]\n\
         [workloads.use]\nuse = \"command\"\nprepare = [\"make\", \"add\"]\n\
         command = [\"sh\", \"-c\", \"echo sum $(paste -sd+ {directory}/data)\"]\n\
         metrics = { first = { pattern = \"sum ([0-9]+)\" }, last = { pattern = \"\\\\+([0-9]+)\" } }",
    );
    let (ended, manifest) = run(&bench, &text);
    assert!(matches!(ended.status.code(), Some(0 | 1 | 3)), "{}", ended.stderr);
    for index in [0, 1] {
        let used = result(&manifest, index, "a.use");
        assert_eq!((metric(used, "first"), metric(used, "last")), (42.0, 1.0), "{used:#}");
        let prepared = repeat(&manifest, index)["preparations"].as_array().unwrap();
        assert_eq!(prepared.len(), 2, "{prepared:#?}");
        assert_eq!(metric(&prepared[0], "files"), 0.0, "repeat {index} began with old files");
    }
}

#[test]
fn a_failed_preparation_prevents_the_window() {
    let Some(bench) = Bench::with("a failed preparation", &[Need::Controller("cpu")]) else {
        return;
    };
    let text = study(
        "repeats = 1\nat_most = \"5 s\"",
        "",
        "[[groups]]\nname = \"a\"\nrun = \"use\"\n\
         [workloads.make]\nuse = \"command\"\n\
         command = [\"sh\", \"-c\", \"echo no data >&2; exit 3\"]\n\
         [workloads.use]\nuse = \"command\"\ncommand = [\"true\"]\nprepare = \"make\"",
    );
    let (ended, manifest) = run(&bench, &text);
    ended.assert_code(5);
    ended.assert_says(&["`a.make` failed", "exit status 3", "no data"]);
    assert_eq!(repeat(&manifest, 0)["released_ns"], 0);
}

#[test]
fn a_workload_can_start_after_another_and_the_last_ends_the_window() {
    let Some(bench) = Bench::with("one after another", &[Need::Controller("cpu")]) else {
        return;
    };
    let text = study(
        "repeats = 1\nat_most = \"50 s\"\nends = \"all\"",
        "",
        "[[groups]]\nname = \"a\"\nrun = [\"first\", \"then\", \"late\"]\n\
         [workloads.first]\nuse = \"command\"\ncommand = [\"sleep\", \"0.7\"]\n\
         [workloads.then]\nuse = \"command\"\nafter = \"first\"\n\
         command = [\"sh\", \"-c\", \"sleep 0.7; echo 5 done\"]\n\
         metrics = { count = { pattern = \"([0-9]+) done\" } }\n\
         [workloads.late]\nuse = \"command\"\ncommand = [\"true\"]\nafter = \"500 ms\"",
    );
    let (ended, manifest) = run(&bench, &text);
    assert!(matches!(ended.status.code(), Some(0 | 1 | 3)), "{}", ended.stderr);
    let ns = |name: &str, key: &str| result(&manifest, 0, name)[key].as_u64().unwrap();
    assert!(ns("a.then", "began_ns") >= ns("a.first", "ended_ns"));
    let record = repeat(&manifest, 0);
    let released = record["all_released_ns"].as_u64().unwrap();
    assert!(ns("a.late", "began_ns") >= released + 500_000_000);
    assert_eq!(metric(result(&manifest, 0, "a.then"), "count"), 5.0);
    let window = record["stopped_ns"].as_u64().unwrap() - released;
    assert!((1_400_000_000..30_000_000_000).contains(&window), "{window}");
}

#[test]
fn an_oom_kill_makes_the_trial_void() {
    let test = "a load that the kernel kills";
    let Some(bench) = with_generators(test, &[Need::Controller("memory")]) else { return };
    let text = study(
        "repeats = 1\nat_most = \"20 s\"",
        "",
        "[[groups]]\nname = \"small\"\nknobs = { \"memory.max\" = \"48 MiB\" }\nrun = \"grow\"\n\
         [workloads.grow]\nuse = \"hog\"\n\
         args = { to = \"2GiB\", step = \"8MiB\", every-ms = 5, anyway = true }",
    );
    let (ended, manifest) = run(&bench, &text);
    ended.assert_code(3);
    let record = repeat(&manifest, 0);
    assert_eq!(record["fault"]["kind"], "oom", "{record:#}");
    assert!(record["memory_events"]["small"]["oom_kill"].as_u64().unwrap() >= 1);
    let verdict = json(&bench.out().join("verdict.json"));
    assert_eq!(verdict["verdict"], "void");
    let cause = &verdict["trials"][0]["promises"][0]["causes"][0];
    assert_eq!(cause["code"], "C-OOM-KILLED", "{verdict:#}");
    assert!(cause["evidence"][0].as_str().unwrap().contains("oom_kill"), "{cause:#}");
}
