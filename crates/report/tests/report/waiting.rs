//! Where the time of each group went: figures, tables and lines of the same evidence.

use std::sync::Arc;

use assay_blame::Evidence;
use assay_record::run_folder::EvidenceRecord;
use serde_json::{Value, json};

use crate::cases;
use crate::fixture::Run;
use crate::page::{html as page, spec, text};

fn answer(target: &str, verdict: &str, parts: &[(&str, Option<&str>, u64)]) -> Value {
    let parts = parts.iter().map(|(culprit, group, ns)| {
        json!({"culprit": culprit, "group": group, "ns": ns, "percent": 0.0})
    });
    let waits = json!({"count": 0, "p50_below_ns": 0, "p99_below_ns": 0, "histogram": []});
    json!({
        "schema": 1, "target": target, "seconds": 20.0, "verdict": verdict, "reason": "they differ",
        "waited_ns": 0, "completed_ns": 0, "run_delay_ns": 0, "difference_percent": null,
        "parts": parts.collect::<Vec<_>>(), "cpus": [], "waits": waits, "longest": [],
        "events": {"switches": 0, "wakeups": 0, "moves": 0, "hidden_switches": 0, "unseen_waits": 0,
            "dropped_waits": 0, "dropped_ns": 0, "lost_moves": 0},
        "cost": {"ns_per_event": null, "percent_of_cpus": null},
    })
}

fn disk(groups: &Value) -> Value {
    json!({
        "schema": 1, "disk": "loop0", "scheduler": "bfq", "nr_requests": 64, "seconds": 20.0,
        "verdict": "valid", "reason": null, "start_to_complete_ns": 0, "diskstats_ns": 0,
        "difference_percent": null, "pool_full_ns": 0, "device_idle_ns": 0, "groups": groups,
        "bfq": {"not_available": "no sample"},
        "events": {"issued": 0, "unknown_completions": 0, "unknown_places": 0, "dropped": 0, "contended": 0},
        "cost": {"ns_per_event": null, "percent_of_cpus": null},
    })
}

fn requests(group: &str, place: u64, device: u64, served: &[(Option<&str>, u64)]) -> Value {
    let lengths = json!({"count": 0, "p50_below_ns": 0, "p99_below_ns": 0, "histogram": []});
    let stage = |ns: u64| json!({"ns": ns, "lengths": lengths});
    let served = served.iter().map(|(by, ns)| json!({"by": by, "ns": ns, "percent": 0.0}));
    json!({
        "group": group, "watched": true, "requests": 1, "bytes": 1, "merged": 0, "requeued": 0,
        "place": {"ns": place, "pool_full_ns": place, "own_cap_ns": 0, "other_ns": 0, "held_mean": null,
            "lengths": lengths},
        "plugged": stage(0), "scheduler": stage(0), "device": stage(device),
        "served": served.collect::<Vec<_>>(),
        "mean_allocated": 0.0, "mean_queued": 0.0, "mean_in_device": 0.0,
    })
}

/// A kept run whose first repeat has this evidence.
fn with(cpu: &Value, disks: &Value) -> Run {
    let document = json!({"schema": 1, "seconds": 20.0, "cpu": cpu, "disks": disks});
    let evidence: Evidence = serde_json::from_value(document).unwrap();
    let mut run = cases::kept();
    run.manifest.trials[0].repeats[0].evidence =
        Some(EvidenceRecord { cpu_s: Some(0.5), document: Some(Arc::new(evidence)) });
    run
}

const NONE: &str = "this kernel has no type information";

#[test]
fn the_bar_of_a_group_has_its_running_time_and_each_culprit() {
    let waited = [("group", Some("task2"), 12_000_000_000), ("own_quota", None, 4_000_000_000)];
    let cpu = json!({"value": [answer("task1", "valid", &waited)]});
    let run = with(&cpu, &json!({"not_available": NONE}));
    let page = page(&run);
    let spec = spec(&page, "trial-1-waiting-cpus-spec");
    let domain = spec["encoding"]["color"]["scale"]["domain"].as_array().unwrap();
    let rows = spec["data"]["values"].as_array().unwrap();
    let percent = |class: &str| {
        let row = rows.iter().find(|row| row["class"] == class).unwrap();
        row["percent"].as_f64().unwrap()
    };
    assert!((percent("task2") / percent("own quota") - 3.0).abs() < 1e-9);
    let sum: f64 = rows.iter().map(|row| row["percent"].as_f64().unwrap()).sum();
    assert!((sum - 100.0).abs() < 1e-9, "{sum}");
    assert!(domain.contains(&json!("task2")) && domain.contains(&json!("own quota")));
    // The table has the same, and the text what was waited for.
    assert!(page.contains("<th class=\"n\">own quota</th><th class=\"n\">task2</th>"));
    let text = text(&run);
    assert!(text.contains("task2 75.0 %  own quota 25.0 %"), "{text}");
    // What the disk lacks is said where its figure would be.
    assert!(page.contains("id=\"trial-1-waiting-cpus\"") && !page.contains("waiting-disk-1"));
}

#[test]
fn the_requests_of_a_group_are_split_by_who_was_served() {
    let served = [(Some("task1"), 10), (Some("task4"), 30), (None, 20)];
    let groups = json!([requests("task1", 20, 20, &served), requests("task2", 0, 7, &[])]);
    let run = with(&json!({"not_available": NONE}), &json!({"value": [disk(&groups)]}));
    let text = text(&run);
    assert!(text.contains("to loop0 spent their time"), "{text}");
    assert!(
        text.contains(
            "task4 served 30.0 %  pool: full 20.0 %  queued, device idle 20.0 %  device 20.0 %"
        ),
        "{text}"
    );
    assert!(text.contains("device 100.0 %"), "{text}");
    assert!(page(&run).contains("id=\"trial-1-waiting-disk-1\""));
}

#[test]
fn a_void_answer_is_left_out_and_says_why() {
    let parts = [("own_quota", None, 5)];
    let cpu = json!({"value": [answer("task1", "void", &parts)]});
    let run = with(&cpu, &json!({"not_available": NONE}));
    let (page, text) = (page(&run), text(&run));
    for shown in [&page, &text] {
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("repeat 1, task1: left out") && flat.contains("they differ"),
            "{text}"
        );
    }
    assert!(!page.contains("trial-1-waiting-cpus\""));
}

#[test]
fn what_the_kernel_refused_is_said_and_without_evidence_nothing_is_drawn() {
    let mut run = cases::kept();
    assert!(!page(&run).contains("Where the time went"));
    assert!(!text(&run).contains("spent their time"));
    let repeat = &mut run.manifest.trials[0].repeats[0];
    repeat.not_available.insert("evidence.cpu".to_owned(), NONE.to_owned());
    let page = page(&run);
    assert!(page.contains("Where the time went") && page.contains(NONE));
}

#[test]
fn names_of_other_groups_cannot_write_into_the_page() {
    let bad = "</script><script>alert(1)</script>";
    let cpu = json!({"value": [answer("task1", "valid", &[("group", Some(bad), 5_000_000_000)])]});
    let run = with(&cpu, &json!({"not_available": NONE}));
    assert!(!page(&run).contains("<script>alert(1)"));
}
