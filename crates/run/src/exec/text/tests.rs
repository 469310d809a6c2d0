//! Tests of the text report.

use assay_host::facts::{Available, Layout};

use super::text;
use crate::exec::limits_hit::tests::no_limit_hit;
use crate::exec::limits_hit::{Binding, LimitHit};
use crate::exec::report::{Ended, LimitReport, Report, SCHEMA, Survivors};

fn limit(knob: &str, asked: &str, written: &str, binding: Binding, figures: &str) -> LimitReport {
    LimitReport {
        knob: knob.to_owned(),
        asked: asked.to_owned(),
        file: knob.to_owned(),
        written: written.to_owned(),
        reads: Available::Value(written.to_owned()),
        differs: false,
        changed_to: None,
        note: None,
        judged: LimitHit { binding, figures: figures.to_owned() },
    }
}

fn report() -> Report {
    let held = "212 times at the limit, 1 process killed (peak 64 MiB)";
    let free = "0 of 41 periods throttled (used 12 % of a CPU)";
    Report {
        schema: SCHEMA,
        command: vec!["hog".to_owned()],
        kernel: "6.12".to_owned(),
        layout: Layout::V2,
        groups: Vec::new(),
        ended: Ended::Signal(9),
        used: no_limit_hit(),
        limits: vec![
            limit("memory.max", "64M", "67108864", Binding::Bound, held),
            limit("cpu.max", "50000 100000", "50000 100000", Binding::DidNotBind, free),
        ],
        not_set: Vec::new(),
        left: None,
        restored: true,
    }
}

#[test]
fn each_limit_has_a_line_below_the_usage() {
    let expected = "\
assay exec: killed by signal 9 after 10.00 s
  CPU        10.00 s (user 9.00 s, system 1.00 s), 1.00 CPUs on average
  memory     at most 8 MiB; swap at most 0 B
  I/O        read 0 B, written 0 B
  processes  at most 2 at once
memory.max 64 MiB     bound: 212 times at the limit, 1 process killed (peak 64 MiB)
cpu.max 50000 100000  did not bind: 0 of 41 periods throttled (used 12 % of a CPU)";
    assert_eq!(text(&report(), false), expected);
}

#[test]
fn deviations_from_the_request_are_reported() {
    let mut report = report();
    report.limits.truncate(1);
    report.limits[0].reads = Available::Value("4096".to_owned());
    report.limits[0].differs = true;
    report.limits[0].changed_to = Some("8192".to_owned());
    report.left = Some(Survivors { processes: 2, killed: false });
    report.restored = false;
    report.used.swap_peak = Available::NotAvailable("this host has no swap".to_owned());
    let text = text(&report, true);
    for expected in [
        "swap not available: this host has no swap",
        "2 processes outlived the command: waited for",
        "\x1b[1mbound\x1b[0m: 212 times",
        "read-back differs: memory.max contains `4096`, `67108864` was written",
        "changed during the run: memory.max now contains `8192`",
        "run `assay restore`",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
}
