//! `assay audit --textfile`: once, and of a watch that sees a change; the queries of the dashboard.

mod dashboard;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::audit::Weighted;
use crate::bench::Bench;
use crate::running::Running;
use assay_test_support::{Need, skip};

/// Nothing here takes as long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// The value of a series.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series}: {text}")).parse().unwrap()
}

/// What is in the file, which is whole whenever it is read, once that `is_so`.
fn until(file: &Path, what: &str, is_so: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        assert!(text.is_empty() || text.ends_with('\n') && text.contains("assay_watch_groups "));
        if is_so(&text) {
            return text;
        }
        assert!(Instant::now() < deadline, "no {what}: {text}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_audit_writes_its_findings_and_names_no_group() {
    let bench = Bench::aside();
    bench.assay(["audit", "--textfile", "assay.prom"]).assert_code(0);
    let file = bench.path("assay.prom");
    let text = fs::read_to_string(&file).unwrap();
    assert!(value(&text, "assay_audit_groups") > 0.0);
    assert!(text.contains("assay_audit_findings{rule=\"A-SCHEDULER\",class=\"no-effect\"} "));
    assert!(!text.contains("assay_watch"), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o444, 0o444, "the collector's");
    let ended = bench.assay(["audit", "watch", "--for", "1s", "--textfile", "missing/assay.prom"]);
    ended.assert_code(4);
    assert!(ended.stderr.contains("missing"), "{}", ended.stderr);
}

#[test]
fn a_watch_keeps_its_file_up_to_date() {
    let test = "the textfile of a watch";
    let Some(bench) = Bench::with(test, &[Need::Controller("cpu")]) else { return };
    let Some(group) = Weighted::make() else {
        return skip(test, "no group can be made in a hierarchy of cpu");
    };
    let mut command = bench.program();
    command.args(["audit", "watch", "--interval", "200ms", "--textfile", "assay.prom"]);
    let running = Running::start(command, bench.folder(), bench.out());
    let file = bench.path("assay.prom");
    let before = until(&file, "file", |text| !text.is_empty());
    assert!(value(&before, "assay_watch_groups") > 0.0, "{before}");
    assert!(!before.contains("assay-audit-"), "a group is named: {before}");
    group.set("333");
    let series = format!("assay_watch_changes_total{{knob=\"{}\"}}", group.file());
    let after = until(&file, "change", |text| value(text, &series) > value(&before, &series));
    assert!(value(&after, "assay_watch_looks_total") > value(&before, "assay_watch_looks_total"));
    assert_eq!(after.lines().count(), before.lines().count(), "{after}");
    dashboard::asks_only_for_what_is_there(&after);
    running.signal(Signal::INT);
    running.end(PATIENCE).assert_code(0);
    drop(group);
    bench.assert_host_is_as_before(test);
}
