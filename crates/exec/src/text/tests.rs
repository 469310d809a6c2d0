//! The report as people read it.

use assay_facts::{Available, Layout};

use super::text;
use crate::limits_hit::tests::at_rest;
use crate::limits_hit::{Binding, LimitHit};
use crate::report::{Ended, Left, LimitReport, Report, SCHEMA};

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
        used: at_rest(),
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
fn one_line_a_limit_below_what_was_used() {
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
fn what_differs_from_what_was_asked_is_said() {
    let mut report = report();
    report.limits.truncate(1);
    report.limits[0].reads = Available::Value("4096".to_owned());
    report.limits[0].differs = true;
    report.limits[0].changed_to = Some("8192".to_owned());
    report.left = Some(Left { processes: 2, killed: false });
    report.restored = false;
    report.used.swap_peak = Available::NotAvailable("this host has no swap".to_owned());
    let text = text(&report, true);
    for says in [
        "swap not available: this host has no swap",
        "2 processes outlived the command: waited for",
        "\x1b[1mbound\x1b[0m: 212 times",
        "reads otherwise: memory.max says `4096`, written was `67108864`",
        "someone changed it meanwhile: memory.max says `8192`",
        "run `assay restore`",
    ] {
        assert!(text.contains(says), "no `{says}` in\n{text}");
    }
}
