//! `assay fleet` through a real Slurm: munge, a controller, and two nodes on this host.

mod absent;
mod cluster;

use std::fs;
use std::path::{Path, PathBuf};

use assay_test_support::{Need, entries, skip};
use serde_json::Value;

use crate::bench::Bench;
use crate::running::{Ended, json};
use cluster::Cluster;

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

/// `assay fleet ...` on this cluster.
fn fleet(bench: &Bench, cluster: &Cluster, words: &[&str]) -> Ended {
    let mut command = bench.program();
    command.arg("fleet").args(words).env("SLURM_CONF", cluster.configuration());
    bench.finish(command)
}

/// A study file, submitted into `fleet` on both nodes: two groups, one repeat.
fn submit(bench: &Bench, cluster: &Cluster, at_most: &str, nodes: &[&str]) {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/cpu-weight.toml");
    bench.write("mine.toml", &fs::read_to_string(shipped).unwrap());
    let words =
        ["run", "--yes", "mine.toml", "--set", "groups=2", "--repeats", "1", "--duration", at_most];
    fleet(bench, cluster, &[&words[..], nodes, &["--out", "fleet"]].concat()).assert_code(0);
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
    submit(&bench, &cluster, "1s", &["--nodes", "2"]);
    cluster.wait_until("every task ends", || cluster.queued().is_empty());
    bench.assay(["fleet", "collect", "fleet"]).assert_verdict();
    bench.assert_host_is_as_before("after a fleet of two");
    let verdict = json(&bench.path("fleet/fleet-verdict.json"));
    assert_eq!(verdict["restored"], true, "{verdict}");
    for (task, host) in verdict["hosts"].as_array().unwrap().iter().enumerate() {
        assert_eq!(host["seed"], task + 1);
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
    fleet(&bench, &cluster, &["resume", "fleet"]).assert_code(0);
    cluster.wait_until("the task ends", || cluster.queued().is_empty());
    bench.assay(["fleet", "collect", "fleet"]).assert_verdict();
    assert_eq!((runs(&bench, "assay1").len(), runs(&bench, "assay2").len()), (1, 2));
    bench.assert_host_is_as_before("after the fleet was resumed");
}

#[test]
fn a_named_node_whose_job_is_cancelled_as_the_page_says_is_restored() {
    let Some((bench, cluster)) = on_cluster("a fleet cancelled") else { return };
    submit(&bench, &cluster, "60s", &["--hosts", "assay[2]"]);
    cluster.wait_until("a run on the node", || {
        runs(&bench, "assay2").iter().any(|run| {
            let events = fs::read_to_string(run.join("events.jsonl"));
            events.unwrap_or_default().contains("\"text\":\"run\"")
        })
    });
    let job = json(&bench.path("fleet/fleet.json"))["jobs"][0].to_string();
    cluster.ask("scancel", &["--batch", "--signal=TERM", &job]);
    cluster.wait_until("the task ends", || cluster.queued().is_empty());
    bench.assert_host_is_as_before("after the fleet was cancelled");
    bench.assay(["fleet", "collect", "fleet"]).assert_code(4);
    let verdict = json(&bench.path("fleet/fleet-verdict.json"));
    assert_eq!(verdict["hosts"][0]["code"], 130, "{verdict}");
    assert!(verdict["hosts"][0]["verdict"].is_null(), "resume runs it again: {verdict}");
}
