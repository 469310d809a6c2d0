//! A thousand tasks whose scheduler is simulated: runs end, fail, are late and die with their nodes, and the program
//! that merges them is killed. The runs are real run folders, of one recorded run with numbers of its own for each
//! host.

mod kills;
mod scheduler;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::Bench;
use crate::running::json;
use scheduler::{End, Scheduler};

const TASKS: usize = 1000;

/// The most memory that merging them may take.
const MEMORY: u64 = 100 << 20;

const MANIFEST: &str = include_str!("../../../../test-support/faults/one-cpu/manifest.json");
const VERDICT: &str = include_str!("../../../../fuzz/corpus/verdict/one-cpu.json");
const SAMPLES: &[u8] =
    include_bytes!("../../../../test-support/faults/one-cpu/samples/trial-00-repeat-00/io.parquet");

/// What the host of a task is called.
fn node(task: usize) -> String {
    format!("node{task:05}")
}

/// The rate that the run of a task measured: no other has it.
fn rate(task: usize) -> f64 {
    1e6 + task as f64
}

/// A folder in memory: on a disk each file would wait for it.
fn in_memory() -> tempfile::TempDir {
    let named = tempfile::Builder::new().prefix("assay-fleet-").tempdir_in("/dev/shm");
    named.or_else(|_| tempfile::tempdir()).unwrap()
}

/// The run of a task, as its host writes it.
fn write_run(place: &Path, task: usize, verdict: &str) {
    let samples = place.join("samples/trial-00-repeat-00");
    fs::create_dir_all(&samples).unwrap();
    fs::write(samples.join("io.parquet"), SAMPLES).unwrap();
    let host = format!("\"host_name\":\"{}\"", node(task));
    let manifest = MANIFEST.replacen("\"host_name\":\"recorded\"", &host, 1);
    let manifest = manifest.replacen("\"seed\":1,", &format!("\"seed\":{},", task + 1), 1);
    assert!(manifest.contains(&host), "the recorded manifest has changed");
    fs::write(place.join("manifest.json"), manifest).unwrap();
    let mut judgement: Value = serde_json::from_str(VERDICT).unwrap();
    judgement["verdict"] = verdict.into();
    let trial = &mut judgement["trials"][0];
    trial["verdict"] = verdict.into();
    trial["promises"][0]["verdict"] = verdict.into();
    trial["promises"][0]["total_rate"] = rate(task).into();
    fs::write(place.join("verdict.json"), serde_json::to_vec(&judgement).unwrap()).unwrap();
}

/// The program after its end, with the most memory that it used (proc(5), `VmHWM`).
struct Measured {
    code: Option<i32>,
    peak: u64,
    seconds: f64,
    stderr: String,
}

/// Runs `assay fleet WORDS` to its end, or kills it after `kill`.
fn fleet(bench: &Bench, bin: &Path, words: &[&str], kill: Option<Duration>) -> Measured {
    let stderr = bench.path("stderr-of-fleet");
    let mut command = bench.program();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command.arg("fleet").args(words).env("PATH", path).env_remove("SLURM_CONF");
    command.stdout(Stdio::null()).stderr(fs::File::create(&stderr).unwrap());
    let measured = measure(&mut command, kill);
    Measured { stderr: fs::read_to_string(stderr).unwrap(), ..measured }
}

fn measure(command: &mut Command, kill: Option<Duration>) -> Measured {
    let began = Instant::now();
    let mut child = command.spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    let code = loop {
        if kill.is_some_and(|kill| began.elapsed() >= kill) {
            child.kill().unwrap();
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kibibytes.unwrap_or(0) << 10);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Measured { code, peak, seconds: began.elapsed().as_secs_f64(), stderr: String::new() }
}

/// The merged result, which is complete whenever it exists.
fn merged(fleet: &Path) -> Value {
    json(&fleet.join("fleet-verdict.json"))
}

/// Asserts that the result has every task, and the very numbers of those that have a run.
#[track_caller]
fn assert_nothing_is_lost(fleet: &Path, with_verdict: &[usize]) {
    let result = merged(fleet);
    let hosts = result["hosts"].as_array().unwrap();
    assert_eq!(hosts.len(), TASKS);
    let judged: Vec<usize> =
        (0..TASKS).filter(|task| hosts[*task]["verdict"].is_string()).collect();
    assert_eq!(judged, with_verdict);
    assert_eq!(result["trials"][0]["hosts"], with_verdict.len());
    let promise = &result["trials"][0]["promises"][0];
    let of_hosts = promise["hosts"].as_array().unwrap();
    assert_eq!(of_hosts.len(), with_verdict.len());
    for (task, one) in with_verdict.iter().zip(of_hosts) {
        assert_eq!(one["node"], node(*task));
        assert_eq!(one["total_rate"].as_f64(), Some(rate(*task)), "{one}");
    }
    let rows = fs::read(fleet.join("samples/io.parquet")).unwrap();
    let names = names_in(&rows);
    for task in with_verdict {
        assert!(names.contains(&node(*task)), "the samples of {} are missing", node(*task));
    }
    let report = fs::read_to_string(fleet.join("report.html")).unwrap();
    assert!(report.trim_end().ends_with("</html>"));
}

/// Names of nodes in the dictionaries of a Parquet file.
fn names_in(bytes: &[u8]) -> std::collections::HashSet<String> {
    let length = node(0).len();
    let starts = bytes.windows(4).enumerate().filter(|(_, four)| *four == b"node");
    let name = |(at, _): (usize, &[u8])| bytes.get(at..at + length);
    starts.filter_map(name).map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Runs of all kinds arrive, the merge is killed at many points, the rest is submitted again: nothing is lost.
#[test]
fn a_thousand_tasks_are_merged_and_resumed_whatever_is_killed() {
    let bench = Bench::aside();
    let place = in_memory();
    let mut scheduler = Scheduler::new(place.path(), TASKS);
    scheduler.first_round();
    let out = scheduler.fleet().display().to_string();
    let collect = |kill| fleet(&bench, scheduler.bin(), &["collect", &out, "--json"], kill);
    let whole = collect(None);
    assert_eq!(whole.code, Some(1), "{}", whole.stderr);
    assert!(whole.peak > 1 << 20 && whole.peak <= MEMORY, "{} MiB", whole.peak >> 20);
    assert_nothing_is_lost(scheduler.fleet(), &scheduler.tasks_that(&[End::Kept, End::Broken]));
    // What is late is not resubmitted while it may still end.
    let resume = |bench: &Bench, bin: &Path| fleet(bench, bin, &["resume", &out, "--detach"], None);
    let early = resume(&bench, scheduler.bin());
    assert_eq!(early.code, Some(4), "{}", early.stderr);
    assert!(early.stderr.contains("still running"), "{}", early.stderr);
    for point in 1..=4_u32 {
        // Some that were late end between two kills.
        scheduler.late_ones_end(point);
        let kill = Duration::from_secs_f64(whole.seconds * f64::from(point) / 5.0);
        let killed = fleet(&bench, scheduler.bin(), &["collect", &out, "--json"], Some(kill));
        assert!(killed.code.is_none() || killed.code == Some(1), "{:?}", killed.code);
        assert_eq!(merged(scheduler.fleet())["schema"], 1, "a killed merge leaves a whole result");
    }
    scheduler.late_ones_end(u32::MAX);
    let again = resume(&bench, scheduler.bin());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let lost = scheduler.tasks_that(&[End::Failed, End::Died]);
    assert_eq!(scheduler.resubmitted(), lost, "those without a verdict, and no other");
    scheduler.resubmitted_ones_end();
    let last = fleet(&bench, scheduler.bin(), &["collect", &out, "--json"], None);
    assert_eq!(last.code, Some(1), "{}", last.stderr);
    assert!(last.peak <= MEMORY, "{} MiB", last.peak >> 20);
    assert_nothing_is_lost(scheduler.fleet(), &(0..TASKS).collect::<Vec<_>>());
    let broken = merged(scheduler.fleet())["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|host| host["verdict"] == "broken")
        .count();
    assert_eq!(broken, scheduler.tasks_that(&[End::Broken]).len());
}

/// What merging costs, for docs/fleet.md: `ASSAY_FLEET_COST=250,500,1000`.
#[test]
fn the_cost_of_merging_is_printed_on_request() {
    let Ok(sizes) = std::env::var("ASSAY_FLEET_COST") else { return };
    let bench = Bench::aside();
    for size in sizes.split(',').map(|size| size.parse::<usize>().unwrap()) {
        let place = in_memory();
        let scheduler = Scheduler::new(place.path(), size);
        (0..size).for_each(|task| scheduler.ends(task, task as u64 + 1, End::Kept));
        let out = scheduler.fleet().display().to_string();
        let copies = place.path().join("copies");
        (0..size).for_each(|task| write_run(&copies.join(node(task)), task, "kept"));
        let new = place.path().join("new").display().to_string();
        let from = ["collect", &new, "--collect-from", &copies.display().to_string(), "--json"];
        for (what, words) in [("merge", &["collect", &out, "--json"][..]), ("copy", &from)] {
            let cost = fleet(&bench, scheduler.bin(), words, None);
            assert_eq!(cost.code, Some(0), "{}", cost.stderr);
            eprintln!(
                "{what} {size}: {:.2} s, {:.1} MiB",
                cost.seconds,
                cost.peak as f64 / 1048576.0
            );
        }
    }
}
