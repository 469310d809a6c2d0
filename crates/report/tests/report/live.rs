//! The live view of a running run: states in, lines out.

use std::fmt::Write;
use std::time::Duration;

use assay_judge::verdict::{GroupJudgement, PromiseJudgement, Verdict};
use assay_report::{Clock, InterimResult, Live, Position, Style, ascii, trial_line};
use insta::assert_snapshot;

use crate::cases;

const WIDE: Style = Style { columns: 79, rows: 23, color: false, unicode: true };

fn group(number: usize, expected: f64, low: f64, high: f64, verdict: Verdict) -> GroupJudgement {
    GroupJudgement {
        was: None,
        worst_span: None,
        name: format!("task{number}"),
        knob: Some(100.0),
        expected_share: expected,
        share_by_weight: None,
        share: (low + high) / 2.0,
        low,
        high,
        rate: 1e6,
        verdict,
    }
}

fn promise(measure: &str, groups: Vec<GroupJudgement>) -> PromiseJudgement {
    let verdict = Verdict::worst(groups.iter().map(|group| group.verdict));
    PromiseJudgement {
        to: Some("io.weight".to_owned()),
        reason: "too early to tell".to_owned(),
        groups,
        measure: measure.to_owned(),
        is: "proportional".to_owned(),
        within: 0.1,
        verdict,
        ..PromiseJudgement::default()
    }
}

/// Four groups: certain, open, far too much, too little.
fn four() -> PromiseJudgement {
    let groups = vec![
        group(1, 1.0 / 15.0, 0.065, 0.068, Verdict::Kept),
        group(2, 2.0 / 15.0, 0.10, 0.15, Verdict::Undecided),
        group(3, 4.0 / 15.0, 0.39, 0.44, Verdict::Broken),
        group(4, 8.0 / 15.0, 0.36, 0.41, Verdict::Broken),
    ];
    promise("io.bytes", groups)
}

fn many(count: usize) -> PromiseJudgement {
    let share = 1.0 / count as f64;
    let one = |number: usize| {
        let off = 1.0 + (number % 7) as f64 * 0.03;
        let verdict = if number % 7 > 3 { Verdict::Broken } else { Verdict::Kept };
        group(number, share, share * (off - 0.02), share * (off + 0.02), verdict)
    };
    promise("io.bytes", (1..=count).map(one).collect())
}

/// A run in the middle of a window.
fn running<'v>(promises: &'v [PromiseJudgement]) -> Live<'v> {
    Live {
        study: "io-weight",
        position: Position { trial: 2, trials: 4, repeat: 1, repeats: 3 },
        factors: "groups = 4, iodepth = 32",
        phase: "run",
        clock: Clock::Time { elapsed: Duration::from_secs(12), of: Duration::from_secs(20) },
        remaining: Duration::from_secs(161),
        ends_early: false,
        interim: Some(InterimResult { at: Duration::from_secs(11), promises }),
        stopping: None,
    }
}

fn drawn(live: &Live<'_>, style: Style) -> String {
    live.lines(style).join("\n")
}

#[test]
fn window_has_a_bar_for_each_group() {
    let promises = [four(), promise("io.ios", four().groups)];
    assert_snapshot!(drawn(&running(&promises), WIDE));
}

#[test]
fn view_fits_forty_columns_and_ascii() {
    let promises = [four()];
    let narrow = Style { columns: 39, unicode: false, ..WIDE };
    assert_snapshot!(drawn(&running(&promises), narrow));
}

#[test]
fn many_groups_are_cut_to_those_farthest_from_their_promise() {
    let promises = [many(128)];
    assert_snapshot!(drawn(&running(&promises), Style { rows: 11, ..WIDE }));
}

#[test]
fn limits_are_shown_as_rates_with_their_unit() {
    let group = |name: &str, low: f64, high: f64| GroupJudgement {
        was: None,
        worst_span: None,
        name: name.to_owned(),
        expected_share: 20e6,
        share: (low + high) / 2.0,
        low,
        high,
        ..four().groups[0].clone()
    };
    let groups = vec![group("a", 19.6e6, 19.9e6), group("b", 10e6, 11e6)];
    let limit = PromiseJudgement {
        is: "at_most".to_owned(),
        to: Some("20000000".to_owned()),
        ..promise("io.bytes", groups)
    };
    assert_snapshot!(drawn(&running(&[limit]), WIDE));
}

#[test]
fn promise_known_only_at_the_end_is_shown_as_such() {
    let metric = PromiseJudgement {
        reason: "known when the repeat is over".to_owned(),
        verdict: Verdict::Void,
        ..promise("graph500.teps", Vec::new())
    };
    assert_snapshot!(drawn(&running(&[metric]), WIDE));
}

#[test]
fn preparation_and_stop_have_a_line() {
    let filling = Live {
        phase: "prepare disk scratch",
        clock: Clock::Part(0.37),
        interim: None,
        factors: "",
        ends_early: true,
        position: Position { trial: 1, trials: 1, repeat: 1, repeats: 1 },
        ..running(&[])
    };
    let stopping = Live {
        stopping: Some("SIGINT"),
        phase: "restore the host",
        clock: Clock::Unknown,
        ..filling
    };
    assert_snapshot!(format!("{}\n\n{}", drawn(&filling, WIDE), drawn(&stopping, WIDE)));
}

#[test]
fn finished_trial_is_one_line() {
    let position = Position { trial: 1, trials: 4, repeat: 3, repeats: 3 };
    let mut lines = String::new();
    for run in [cases::kept(), cases::broken(), cases::void()] {
        let judged = run.judgement.trials.last().unwrap();
        writeln!(lines, "{}", trial_line(position, "groups = 4", judged, WIDE)).unwrap();
    }
    assert_snapshot!(lines);
}

#[test]
fn view_fits_any_terminal_size() {
    let promises = [many(30), four(), promise("io.ios", Vec::new())];
    let live = running(&promises);
    for columns in 0..120 {
        for rows in 0..30 {
            for unicode in [false, true] {
                let lines = live.lines(Style { columns, rows, unicode, color: false });
                assert!(lines.len() <= rows, "{columns} x {rows}: {} lines", lines.len());
                for line in &lines {
                    assert!(line.chars().count() <= columns, "{columns} x {rows}: {line}");
                    assert!(unicode || line.is_ascii(), "{line}");
                }
            }
        }
    }
}

#[test]
fn last_line_leaves_room_for_the_echo_of_ctrl_c() {
    for columns in 3..60 {
        let lines = running(&[]).lines(Style { columns, ..WIDE });
        assert!(lines.last().unwrap().chars().count() + 3 <= columns);
    }
}

#[test]
fn colours_do_not_change_the_text() {
    let promises = [four()];
    let live = running(&promises);
    let plain = live.lines(WIDE);
    let coloured = live.lines(Style { color: true, ..WIDE });
    assert!(coloured.iter().any(|line| line.contains("\u{1b}[1;31m")));
    let mut stripped = coloured.join("\n");
    for code in ["1", "2", "1;31", "1;32", "1;33", "0"] {
        stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(stripped, plain.join("\n"));
    let simple = live.lines(Style { unicode: false, ..WIDE });
    assert_eq!(simple, plain.iter().map(|line| ascii(line)).collect::<Vec<_>>());
}

#[test]
fn name_from_a_study_cannot_move_the_cursor() {
    let mut wild = four();
    wild.groups[0].name = "a\u{1b}[2Jb\nc".to_owned();
    let promises = [wild];
    let lines = running(&promises).lines(WIDE);
    assert!(lines.iter().all(|line| !line.contains(['\u{1b}', '\n', '\r'])));
}
