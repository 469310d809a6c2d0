//! Pages of audits: all that their texts have, escaped, and nothing that is loaded or run.

use assay_audit::{Audit, Reading, Snapshot, audit, fulfilment, manifest, own};
use assay_contention::{
    Basis, Contention, LevelAnswer, LimitRow, LimitState, ProtectionRow, Row, Switches,
};
use assay_facts::Available;
use assay_report::{audit_html, manifest_html, own_html};
use assay_stats::Interval;
use assay_verdict::Verdict;

/// A recorded node, whose name is markup.
fn node() -> Snapshot {
    let text = include_str!("../../../audit/tests/fixtures/kubelet-1.36");
    let mut snapshot = Snapshot::parse(text).unwrap();
    snapshot.machine.name = Available::Value("<script>alert(1)</script>".to_owned());
    snapshot
}

fn reading(file: &str, value: &str) -> Reading {
    Reading { file: format!("/sys/fs/cgroup/a<b>/{file}"), value: value.to_owned() }
}

fn contention() -> Contention {
    let row = Row {
        group: "/a<b>".to_owned(),
        owner: None,
        reading: reading("cpu.weight", "300"),
        verdict: Verdict::Broken,
        basis: Some(Basis::AllCpus),
        promised: Some(0.75),
        got: Some(Interval { low: 0.506, value: 0.512, high: 0.518 }),
        compared_s: 41.3,
        used: 20.0,
        notes: vec!["a note".to_owned()],
    };
    let limit = |state| LimitRow {
        group: "/a<b>".to_owned(),
        owner: None,
        reading: reading("memory.max", "4096"),
        of: assay_audit::LimitOf::Memory,
        state,
        most: Some(1.0),
        hits: Some(412),
        periods: None,
        held_s: None,
    };
    let protection = ProtectionRow {
        group: "/a<b>".to_owned(),
        owner: None,
        reading: reading("memory.low", "8192"),
        effective: None,
        verdict: Verdict::Void,
        why: "it had too little to lose".to_owned(),
    };
    Contention {
        seconds: 60.1,
        cell_ms: 100,
        switches: Available::Value(Switches { shown: 9, hidden: 1, unknown_s: 0.5 }),
        cpu: Available::Value(vec![LevelAnswer {
            parent: "/".to_owned(),
            verdict: Verdict::Broken,
            contended_s: 41.3,
            others: 0.031,
            rows: vec![row],
        }]),
        usage: Vec::new(),
        disks: Available::NotAvailable("no eBPF".to_owned()),
        limits: vec![limit(LimitState::NeverNear), limit(LimitState::Bound)],
        protection: vec![protection],
        own_cpus: Available::NotAvailable("none".to_owned()),
        not_looked_at: vec!["a group <i>".to_owned()],
        cost: 0.0035,
    }
}

fn assert_is_page(page: &str) {
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("<i>"), "{page}");
    assert!(page.contains("Content-Security-Policy") && page.trim_end().ends_with("</html>"));
}

#[track_caller]
fn assert_has(page: &str, texts: &[&str]) {
    let page = page.replace("&#x2f;", "/");
    let missing: Vec<&&str> = texts.iter().filter(|text| !page.contains(**text)).collect();
    assert!(missing.is_empty(), "{missing:?} in {page}");
}

fn audited() -> Audit {
    audit(&node())
}

#[test]
fn a_watched_host_has_what_its_groups_got_beside_what_was_found() {
    let page = audit_html(&audited(), Some(&contention())).unwrap();
    assert_is_page(&page);
    let texts = [
        "A-OUTWEIGHED",
        "Configured and actual, while siblings contended",
        "CPU below /: broken; contended 41.3 of 60 s, 3.1 % of it to others",
        "<td class=\"n\">51.2 %</td>",
        "a note",
        "contention could not be seen: no eBPF",
        "<td>bound</td>",
        "1 others were not.",
        "it had too little to lose",
        "1 of 10 switches of threads were not shown",
        "Watching took 0.35 % of a CPU.",
    ];
    assert_has(&page, &texts);
    let page = audit_html(&audited(), None).unwrap();
    assert!(!page.contains("Configured and actual"), "{page}");
}

#[test]
fn what_a_manifest_asked_for_has_a_row_with_both_texts() {
    let unit = "[Service]\nCPUWeight=400\nMemoryMax=1G\nTasksMax=%i<b>\n";
    let units = ["kubelet.service", "none.service"].map(|name| (name.to_owned(), unit.to_owned()));
    let answer = fulfilment(&manifest(&units).unwrap(), None, &node()).unwrap();
    let page = manifest_html(&answer).unwrap();
    assert_is_page(&page);
    let texts =
        ["unit kubelet.service", "CPUWeight=400", "DIFFERS", "<td>100</td>", "<td>400</td>"];
    assert_has(&page, &texts);
    assert_has(&page, &["not looked at", "Not found: a group of unit none.service."]);
}

#[test]
fn ones_own_groups_have_their_settings_and_findings() {
    let mut node = node();
    let own_group = "0::/kubepods.slice\n".to_owned();
    node.machine.files.insert("/proc/self/cgroup".to_owned(), Available::Value(own_group));
    let page = own_html(&own(&node)).unwrap();
    assert_is_page(&page);
    assert_has(
        &page,
        &["/kubepods.slice/cpu.weight", "A-OUTWEIGHED", "What to do: ", "can be seen"],
    );
}
