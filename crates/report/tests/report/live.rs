//! The live view of a running run: states in, lines out.

use std::fmt::Write;
use std::time::Duration;

use assay_report::{Clock, Live, Position, Style, ascii, trial_line};
use insta::assert_snapshot;

use crate::cases;

const WIDE: Style = Style { columns: 79, rows: 23, color: false, unicode: true };

/// A run in the middle of a window.
const RUNNING: Live<'static> = Live {
    study: "io-weight",
    position: Position { trial: 2, trials: 4, repeat: 1, repeats: 3 },
    factors: "groups = 4, iodepth = 32",
    phase: "run",
    clock: Clock::Time { elapsed: Duration::from_secs(12), of: Duration::from_secs(20) },
    remaining: Duration::from_secs(161),
    ends_early: false,
    stopping: None,
};

fn drawn(live: &Live<'_>, style: Style) -> String {
    live.lines(style).join("\n")
}

#[test]
fn window_has_its_clock() {
    assert_snapshot!(drawn(&RUNNING, WIDE));
}

#[test]
fn view_fits_forty_columns_and_ascii() {
    let narrow = Style { columns: 39, unicode: false, ..WIDE };
    assert_snapshot!(drawn(&RUNNING, narrow));
}

#[test]
fn preparation_and_stop_have_a_line() {
    let filling = Live {
        phase: "prepare disk scratch",
        clock: Clock::Part(0.37),
        factors: "",
        ends_early: true,
        position: Position { trial: 1, trials: 1, repeat: 1, repeats: 1 },
        ..RUNNING
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
    for columns in 0..120 {
        for rows in 0..30 {
            for unicode in [false, true] {
                let lines = RUNNING.lines(Style { columns, rows, unicode, color: false });
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
        let lines = RUNNING.lines(Style { columns, ..WIDE });
        assert!(lines.last().unwrap().chars().count() + 3 <= columns);
    }
}

#[test]
fn colours_do_not_change_the_text() {
    let live = Live { stopping: Some("SIGINT"), ..RUNNING };
    let plain = live.lines(WIDE);
    let coloured = live.lines(Style { color: true, ..WIDE });
    assert!(coloured.iter().any(|line| line.contains("\u{1b}[1;33m")));
    let mut stripped = coloured.join("\n");
    for code in ["1", "2", "1;33", "0"] {
        stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(stripped, plain.join("\n"));
    let simple = live.lines(Style { unicode: false, ..WIDE });
    assert_eq!(simple, plain.iter().map(|line| ascii(line)).collect::<Vec<_>>());
}

#[test]
fn name_from_a_study_cannot_move_the_cursor() {
    let wild = Live { factors: "a\u{1b}[2Jb\nc = 1", ..RUNNING };
    let lines = wild.lines(WIDE);
    assert!(lines.iter().all(|line| !line.contains(['\u{1b}', '\n', '\r'])));
}
