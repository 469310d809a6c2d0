//! Tests of pages.

use super::*;
use crate::fake::Fake;
use crate::snapshot::Kubelet;

fn idle(count: usize) -> Audit {
    let mut fake = Fake::v2();
    for number in 0..count {
        fake = fake.group(&format!("/g{number}"), &[("cpu.idle", "1"), ("cpu.weight", "1")]);
    }
    crate::audit(&fake.snapshot())
}

fn text(audit: &Audit, all: bool) -> String {
    audit_page(audit, all).unwrapped()
}

#[test]
fn many_lines_of_one_code_are_counted_instead() {
    let page = text(&idle(5), false);
    assert!(page.contains("MEANS SOMETHING ELSE  5"), "{page}");
    assert!(page.contains("... and 2 more A-IDLE"), "{page}");
    assert!(page.contains("/sys/fs/cgroup/g0/cpu.idle: 1"), "{page}");
    assert!(!text(&idle(5), true).contains("more A-IDLE"));
}

#[test]
fn a_page_without_findings_says_so() {
    assert!(text(&idle(0), false).contains("No group has settings"));
    let set = Fake::v2().group("/g", &[("pids.max", "5")]).snapshot();
    assert!(text(&crate::audit(&set), false).contains("No rule found anything wrong"));
}

#[test]
fn no_name_forges_a_line() {
    let forged = "/x\n\nFORGED  1".to_owned();
    let kubelet = |of: Available<Kubelet>| {
        let pod = "/kubepods.slice/kubepods-pod6c1a.slice";
        let host =
            Fake::v2().group_of("/kubepods.slice", 0, &[]).group(pod, &[("memory.high", "1")]);
        text(&crate::audit(&host.change(|host| host.kubelet = Some(of)).snapshot()), true)
    };
    let settings = [("featureGates.MemoryQoS".to_owned(), "false".to_owned())].into();
    let page = kubelet(Available::Value(Kubelet { files: vec![forged.clone()], settings }));
    assert!(page.contains("/x\\n\\nFORGED") && !page.contains("\nFORGED"), "{page}");
    let page = kubelet(Available::NotAvailable(forged));
    assert!(page.contains("/x\\n\\nFORGED") && !page.contains("\nFORGED"), "{page}");
}

#[test]
fn a_rule_is_explained_with_its_source() {
    let rule = rules::find("A-ANCESTOR").unwrap();
    assert!(explain(rule).contains("Source:     mm/page_counter.c"));
}

#[test]
fn the_page_has_a_line_for_each_change() {
    let host = |weight: &str, max: &str, more: usize| {
        let fake = Fake::v2().group("/web.service", &[("cpu.weight", weight), ("io.max", max)]);
        (0..more).fold(fake, |fake, at| fake.group(&format!("/g{at}"), &[])).snapshot()
    };
    let limits = "8:0 rbps=1\n8:16 rbps=2\n";
    let page = drift_page(&crate::drift(&host("100", "", 0), &host("400", limits, 7)));
    let page = page.unwrapped();
    let lines: Vec<&str> = page.lines().collect();
    assert!(lines[0].contains("2 changes of settings, 7 groups came, 0 went"), "{page}");
    assert_eq!(lines[1], "  unit web.service  /web.service  cpu.weight  100 -> 400");
    assert!(lines[2].ends_with("(empty) -> 8:0 rbps=1; 8:16 rbps=2"), "{page}");
    assert!(lines[3].ends_with("/g4 and 2 more (-o json)"), "{page}");
}

#[test]
fn a_limit_from_above_names_its_group() {
    let audit = crate::audit(
        &Fake::v2()
            .group_of("/a.slice", 0, &[("cpu.max", "50000 100000"), ("cpu.weight", "100")])
            .group("/a.slice/b.service", &[("memory.max", "1048576"), ("cpu.weight", "100")])
            .group("/other", &[])
            .snapshot(),
    );
    let lines = |below| {
        let table = limits(&audit, below)?;
        let lines = table.lines(usize::MAX, assay_sys::escape::page::Paint { color: false });
        let words = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(lines.iter().map(words).collect::<Vec<String>>())
    };
    assert_eq!(
        lines("a.slice/").unwrap(),
        [
            "group CPUs memory.max memory.high pids.max of all CPUs",
            "unit a.slice /a.slice 0.5 16 GiB (machine) - - 50.0 %",
            "unit b.service /a.slice/b.service 0.5 (/a.slice) 1 MiB - - 50.0 %",
        ]
    );
    assert_eq!(lines("/").unwrap().len(), 4);
    assert_eq!(lines("/a"), None);
}

#[test]
fn the_page_says_what_cannot_be_seen() {
    let snapshot = Fake::v2()
        .host_file("/proc/self/cgroup", "0::/\n")
        .top("memory.max", "1048576")
        .change(|snapshot| snapshot.hierarchies[0].is_whole = false)
        .snapshot();
    let page = own_page(&crate::own(&snapshot)).unwrapped();
    assert!(page.contains("v2         /      cannot be seen"), "{page}");
    assert!(page.contains("/sys/fs/cgroup/memory.max: 1048576"), "{page}");
    assert!(page.contains("Not looked at\n    - limits, weights and neighbours"), "{page}");
}
