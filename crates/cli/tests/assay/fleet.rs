//! `assay fleet` through a real Slurm: munge, a controller, and two nodes on this host.

mod absent;
mod cancelled;
mod cluster;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_test_support::{Need, entries, skip};
use rustix::process::Signal;
use serde_json::Value;

use crate::bench::Bench;
use crate::running::{Running, json};
use cluster::Cluster;

/// A few short runs on a host that may be busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// A cluster and a test environment with the host lock; `None`, printed and counted as skipped, if either
/// is unavailable.
fn on_cluster(test: &str) -> Option<(Bench, Cluster)> {
    if let Some(why) = Cluster::why_not() {
        skip(test, &why);
        return None;
    }
    let bench = Bench::with(test, &[Need::Controller("cpu")])?;
    Some((bench, Cluster::start()))
}

/// Starts `assay fleet ...` on this cluster.
fn start(bench: &Bench, cluster: &Cluster, words: &[&str]) -> Running {
    let mut command = bench.program();
    command.arg("fleet").args(words).env("SLURM_CONF", cluster.configuration());
    Running::start(command, bench.folder(), bench.path("fleet"))
}

/// A study file, submitted into `fleet`: two groups, one repeat.
fn submit(bench: &Bench, cluster: &Cluster, at_most: &str) -> Running {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/cpu-weight.toml");
    bench.write("mine.toml", &fs::read_to_string(shipped).unwrap());
    let words =
        ["run", "--yes", "mine.toml", "--set", "groups=2", "--repeats", "1", "--duration", at_most];
    start(bench, cluster, &[&words[..], &["--out", "fleet"]].concat())
}

/// The run folders of a node.
fn runs(bench: &Bench, node: &str) -> Vec<PathBuf> {
    let mut found = entries(&bench.path("fleet/nodes").join(node));
    found.retain(|path| path.is_dir());
    found
}

#[test]
fn nodes_are_judged_side_by_side_and_only_a_missing_one_runs_again() {
    let Some((bench, cluster)) = on_cluster("a fleet of two") else { return };
    submit(&bench, &cluster, "1s").end(PATIENCE).assert_verdict();
    bench.assert_host_is_as_before("after a fleet of two");
    let verdict = json(&bench.path("fleet/fleet-verdict.json"));
    assert_eq!(verdict["restored"], true, "{verdict}");
    for (task, host) in verdict["hosts"].as_array().unwrap().iter().enumerate() {
        assert_eq!((&host["state"], &host["seed"]), (&"ended".into(), &(task + 1).into()));
        let own =
            json(&bench.path("fleet").join(host["run"].as_str().unwrap()).join("verdict.json"));
        assert_eq!(own["verdict"], host["verdict"]);
    }
    assert_eq!(verdict["trials"][0]["promises"][0]["hosts"].as_array().unwrap().len(), 2);
    let html = fs::read_to_string(bench.path("fleet/report.html")).unwrap();
    assert!(html.contains("assay2") && html.trim_end().ends_with("</html>"));

    let lost = runs(&bench, "assay2").remove(0).join("verdict.json");
    let text = fs::read(&lost).unwrap();
    fs::write(&lost, &text[..text.len() / 2]).unwrap();
    let ended = bench.assay(["fleet", "collect", "fleet", "-ojson"]);
    ended.assert_says(&["1 of 2 tasks without a verdict; again: assay fleet resume fleet"]);
    let verdict: Value = serde_json::from_str(&ended.stdout).unwrap();
    let reason = verdict["reason"].as_str().unwrap();
    assert!(reason.contains("no verdict from 1 (assay2)"), "{reason}");

    fs::remove_file(&lost).unwrap();
    start(&bench, &cluster, &["resume", "fleet"]).end(PATIENCE).assert_verdict();
    assert_eq!((runs(&bench, "assay1").len(), runs(&bench, "assay2").len()), (1, 2));
    bench.assert_host_is_as_before("after the fleet was resumed");
}

#[test]
fn an_interrupted_fleet_is_cancelled_and_its_hosts_are_restored() {
    let Some((bench, cluster)) = on_cluster("a fleet interrupted") else { return };
    let mut running = submit(&bench, &cluster, "60s");
    running.wait_until("a run on a node", |_| {
        ["assay1", "assay2"].iter().flat_map(|node| runs(&bench, node)).any(|run| {
            let events = fs::read_to_string(run.join("events.jsonl"));
            events.unwrap_or_default().contains("\"text\":\"run\"")
        })
    });
    running.signal_from_terminal(Signal::INT);
    let ended = running.end(PATIENCE);
    ended.assert_code(130);
    ended.assert_says(&["cancelling the jobs"]);
    bench.assert_host_is_as_before("after the fleet was cancelled");
    let verdict = json(&bench.path("fleet/fleet-verdict.json"));
    let hosts = verdict["hosts"].as_array().unwrap();
    let codes: Vec<_> = hosts.iter().map(|host| host["code"].as_i64()).collect();
    assert!(codes.contains(&Some(130)), "{verdict}");
    assert!(
        hosts.iter().all(|host| host["verdict"].is_null()),
        "resume runs them again: {verdict}"
    );
    assert_eq!(cluster.queued(), "", "no job is left in the queue");
}
