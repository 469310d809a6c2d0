//! `assay fleet` through a real Slurm: munge, a controller, and four nodes on this host.

mod absent;
mod array;
mod by_hand;
mod cancelled;
mod cluster;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_test_support::skip;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::bench::Bench;
use crate::running::{Running, json};
use crate::study::Weights;
use cluster::Cluster;

/// Several runs one after the other, on a host that may be busy.
const PATIENCE: Duration = Duration::from_secs(900);

/// A cluster and a test environment with the host lock; `None`, printed and counted as skipped, if either
/// is unavailable.
fn on_cluster(test: &str) -> Option<(Bench, Cluster)> {
    if let Some(why) = Cluster::why_not() {
        skip(test, &why);
        return None;
    }
    let bench = Bench::on_host(test)?;
    let cluster = Cluster::start();
    Some((bench, cluster))
}

/// Four groups and a small disk: all nodes are this host, and run one after the other.
fn small(bench: &Bench) -> String {
    let small = Weights { at_most: "10 s", ..Weights::small() };
    bench.write("small.toml", &small.text()).display().to_string()
}

/// Starts `assay fleet ...` on this cluster.
fn start(bench: &Bench, cluster: &Cluster, words: &[&str]) -> Running {
    let mut command = bench.program();
    command.arg("fleet").args(words).env("SLURM_CONF", cluster.configuration());
    Running::start(command, bench.folder(), bench.path("fleet"))
}

fn host(verdict: &Value, task: usize) -> &Value {
    &verdict["hosts"][task]
}

/// The folder of a task's latest job.
fn place(fleet: &Path, task: usize) -> PathBuf {
    let jobs = assay_test_support::entries(&fleet.join(format!("tasks/{task:02}")));
    jobs.last().cloned().unwrap_or_default()
}

#[test]
fn four_hosts_bring_four_runs_and_one_report() {
    let Some((bench, cluster)) = on_cluster("a fleet of four") else { return };
    let fleet = bench.path("fleet");
    let out = fleet.display().to_string();
    let study = small(&bench);
    let words = ["run", &study, "--at-most", "1s", "--out", &out];
    let ended = start(&bench, &cluster, &words).end(PATIENCE);
    ended.assert_verdict();
    bench.assert_host_is_as_before("after a fleet of four");
    let verdict = json(&fleet.join("fleet-verdict.json"));
    assert_eq!(verdict["restored"], true);
    let hosts = verdict["hosts"].as_array().unwrap();
    let nodes: Vec<&str> = hosts.iter().map(|host| host["node"].as_str().unwrap()).collect();
    assert_eq!(nodes, ["assay1", "assay2", "assay3", "assay4"]);
    let seeds: Vec<u64> = hosts.iter().map(|host| host["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 2, 3, 4], "each host has a seed of its own");
    for (task, host) in hosts.iter().enumerate() {
        assert_eq!(host["state"], "ended");
        let own = json(&fleet.join(host["run"].as_str().unwrap()).join("verdict.json"));
        assert_eq!(own["verdict"], host["verdict"]);
        assert_eq!(json(&place(&fleet, task).join("task.json"))["code"], host["code"]);
    }
    assert_eq!(verdict["differences"].as_array().unwrap().len(), 0, "they are one host");
    let promise = &verdict["trials"][0]["promises"][0];
    assert_eq!(promise["hosts"].as_array().unwrap().len(), 4);
    let html = fs::read_to_string(fleet.join("report.html")).unwrap();
    assert!(html.contains("assay4") && html.trim_end().ends_with("</html>"));
    assert!(fleet.join("samples/io.parquet").metadata().unwrap().len() > 0);
    // `scripts/screenshots` uses it.
    if let Some(keep) = std::env::var_os("ASSAY_KEEP_FLEET") {
        fs::write(keep, &html).unwrap();
    }
    damaged_runs_are_named_and_the_rest_is_kept(&bench, &fleet);
}

/// Runs removed or truncated afterwards, without Slurm.
fn damaged_runs_are_named_and_the_rest_is_kept(bench: &Bench, fleet: &Path) {
    let half = place(fleet, 1).join("run/verdict.json");
    let text = fs::read(&half).unwrap();
    fs::write(&half, &text[..text.len() / 2]).unwrap();
    fs::remove_dir_all(place(fleet, 2).join("run")).unwrap();
    let newer = place(fleet, 3).join("run/verdict.json");
    let text = fs::read_to_string(&newer).unwrap();
    fs::write(&newer, text.replacen("\"schema\": 1", "\"schema\": 7", 1)).unwrap();
    let ended = bench.assay(["fleet", "collect", &fleet.display().to_string(), "--json"]);
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(host(&verdict, 0)["verdict"].is_string(), "{}", ended.stdout);
    for (task, why) in [(1, "verdict.json"), (2, "missing"), (3, "schema 7")] {
        assert_eq!(host(&verdict, task)["verdict"], Value::Null);
        let reason = host(&verdict, task)["why"].as_str().unwrap();
        assert!(reason.contains(why), "{reason}");
    }
    assert_eq!(verdict["trials"][0]["hosts"], 1);
    let reason = verdict["reason"].as_str().unwrap();
    assert!(reason.contains("no verdict from 3 (assay2, assay3, assay4)"), "{reason}");
}

#[test]
fn a_node_killed_mid_run_is_lost_and_the_next_task_restores_its_host() {
    let Some((bench, mut cluster)) = on_cluster("a node killed in mid-run") else { return };
    let fleet = bench.path("fleet");
    let out = fleet.display().to_string();
    let study = small(&bench);
    let words = ["run", &study, "--at-most", "3s", "--hosts", "assay[1-2]", "--out", &out];
    let mut running = start(&bench, &cluster, &words);
    let mut first = None;
    running.wait_until("a run on a node", |_| {
        first = (0..2).find(|task| {
            let events = place(&fleet, *task).join("run/events.jsonl");
            fs::read_to_string(events).unwrap_or_default().contains("\"text\":\"run\"")
        });
        first.is_some()
    });
    let lost = first.unwrap();
    cluster.kill_node(lost, &json(&place(&fleet, lost).join("task.json")));
    let ended = running.end(PATIENCE);
    assert!(matches!(ended.status.code(), Some(1 | 3)), "{}\n{}", ended.stdout, ended.stderr);
    bench.assert_host_is_as_before("after a node was killed");
    let verdict = json(&fleet.join("fleet-verdict.json"));
    let why = host(&verdict, lost)["why"].as_str().unwrap();
    assert_eq!(host(&verdict, lost)["state"], "lost", "{verdict}");
    assert!(why.contains("node failed"), "{why}");
    let other = host(&verdict, 1 - lost);
    assert!(other["verdict"].is_string(), "the other host is kept: {verdict}");
    let back = other["restored_first"][0].as_str().unwrap();
    assert!(back.contains("changes"), "leftovers of the killed run were restored first: {back}");
    assert_eq!(verdict["restored"], Value::Null, "the lost host recorded nothing");
    resume_completes_the_fleet(&bench, &mut cluster, &fleet, lost);
}

/// Resumes after the node is back; only its task is submitted again.
fn resume_completes_the_fleet(bench: &Bench, cluster: &mut Cluster, fleet: &Path, lost: usize) {
    cluster.start_node(lost);
    cluster.wait_until_idle();
    let kept = place(fleet, 1 - lost);
    let out = fleet.display().to_string();
    let ended = start(bench, cluster, &["resume", &out]).end(PATIENCE);
    ended.assert_verdict();
    let verdict = json(&fleet.join("fleet-verdict.json"));
    for task in 0..2 {
        assert_eq!(host(&verdict, task)["state"], "ended");
        assert!(host(&verdict, task)["verdict"].is_string());
    }
    let submissions = &json(&fleet.join("fleet.json"))["submissions"];
    assert_eq!(submissions[2]["tasks"], serde_json::json!([lost]));
    assert_eq!(submissions[2]["script"], "job-2.sh");
    assert_eq!(place(fleet, 1 - lost), kept, "what was whole is not run again");
    bench.assert_host_is_as_before("after the fleet was resumed");
}

#[test]
fn an_interrupted_fleet_is_cancelled_and_its_hosts_are_restored() {
    let Some((bench, cluster)) = on_cluster("a fleet interrupted") else { return };
    let fleet = bench.path("fleet");
    let out = fleet.display().to_string();
    let study = small(&bench);
    let words = ["run", &study, "--at-most", "60s", "--nodes", "2", "--out", &out];
    let mut running = start(&bench, &cluster, &words);
    running.wait_until("a run on a node", |_| {
        (0..2).any(|task| {
            let events = place(&fleet, task).join("run/events.jsonl");
            fs::read_to_string(events).unwrap_or_default().contains("\"text\":\"run\"")
        })
    });
    let began = Instant::now();
    running.signal_from_terminal(Signal::INT);
    let ended = running.end(PATIENCE);
    ended.assert_code(130);
    ended.assert_says(&["cancelling the jobs"]);
    assert!(began.elapsed() < Duration::from_secs(60), "it waited for the window to pass");
    bench.assert_host_is_as_before("after the fleet was cancelled");
    let verdict = json(&fleet.join("fleet-verdict.json"));
    for task in 0..2 {
        assert_eq!(host(&verdict, task)["code"], 130, "{verdict}");
        assert_eq!(host(&verdict, task)["restored"], true);
    }
    assert_eq!(cluster.queued(), "", "no job is left in the queue");
}

/// One task runs, one waits for the host, and one waits in the queue behind a job that is not the fleet's.
#[test]
fn cancel_ends_every_task_of_a_fleet_and_no_other_job() {
    let Some((bench, cluster)) = on_cluster("a fleet cancelled from elsewhere") else { return };
    let other = cluster.occupy("assay3");
    let fleet = bench.path("fleet");
    let out = fleet.display().to_string();
    let study = small(&bench);
    let hosts = ["--hosts", "assay[1-3]", "--detach"];
    let words = [&["run", &study, "--at-most", "60s", "--out", &out][..], &hosts].concat();
    start(&bench, &cluster, &words).end(PATIENCE).assert_code(0);
    let deadline = Instant::now() + PATIENCE;
    let phase = |task| json(&place(&fleet, task).join("task.json"))["phase"].clone();
    let runs = |task| {
        let events = place(&fleet, task).join("run/events.jsonl");
        fs::read_to_string(events).unwrap_or_default().contains("\"text\":\"run\"")
    };
    let both = || (0..2).all(|task| place(&fleet, task).join("task.json").exists());
    while !(both() && (0..2).any(runs)) {
        assert!(Instant::now() < deadline, "no run on a node: {}", cluster.queued());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!((0..2).any(|task| phase(task) == "turn"), "{} {}", phase(0), phase(1));
    assert_eq!(cluster.queued().lines().count(), 4, "{}", cluster.queued());

    let ended = start(&bench, &cluster, &["cancel", &out]).end(PATIENCE);
    ended.assert_code(0);
    assert!(ended.stdout.contains("every task has ended"), "{}", ended.stdout);
    bench.assert_host_is_as_before("after a fleet was cancelled from elsewhere");
    let left = cluster.queued();
    assert!(left.lines().count() == 1 && left.contains(&other), "{left}");
    cluster.cancel(&other);
    for task in 0..2 {
        let record = json(&place(&fleet, task).join("task.json"));
        assert_eq!((&record["code"], &record["restored"]), (&130.into(), &true.into()), "{record}");
    }
    let status = start(&bench, &cluster, &["status", &out, "--json"]).end(PATIENCE);
    let hosts: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(hosts[2]["state"], "lost");
    assert_eq!(hosts[2]["why"], "cancelled before it started");
}

/// Kills a process that may be gone already.
fn kill(id: u32) {
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}
