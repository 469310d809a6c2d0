//! Tests of terminal text.

use insta::assert_snapshot;

use crate::cases;
use crate::fixture::Run;

fn text(run: &Run, width: usize) -> String {
    assay_report::text(&run.manifest, &run.judgement, width, false)
}

#[test]
fn kept_run_is_a_table() {
    assert_snapshot!(text(&cases::kept(), 100));
}

#[test]
fn broken_run_names_the_groups_and_the_cause() {
    assert_snapshot!(text(&cases::broken(), 100));
}

#[test]
fn undecided_run_says_what_would_decide_it() {
    assert_snapshot!(text(&cases::undecided(), 100));
}

#[test]
fn void_run_names_the_failed_check() {
    assert_snapshot!(text(&cases::void(), 100));
}

#[test]
fn interrupted_run_lists_what_was_not_restored() {
    assert_snapshot!(text(&cases::interrupted(), 80));
}

#[test]
fn promises_across_trials_and_references_follow_the_trials() {
    assert_snapshot!(text(&cases::across(), 100));
}

#[test]
fn many_groups_are_cut_to_the_worst_with_one_line_per_weight() {
    assert_snapshot!(text(&cases::large(), 100));
}

#[test]
fn a_number_without_bounds_shows_none() {
    let mut run = cases::broken();
    let promise = &mut run.judgement.trials[0].promises[0];
    for group in &mut promise.groups {
        (group.low, group.high) = (0.0, f64::INFINITY);
    }
    let worst = promise.worst_error.as_mut().unwrap();
    (worst.low, worst.high) = (0.0, f64::INFINITY);
    let text = text(&run, 120);
    assert!(!text.contains("inf") && !text.contains(".. \u{2013}"), "{text}");
}

#[test]
fn table_lines_fit_the_terminal() {
    for width in [60, 80, 100] {
        for line in text(&cases::broken(), width).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn colours_do_not_change_the_text() {
    let run = cases::broken();
    let coloured = assay_report::text(&run.manifest, &run.judgement, 100, true);
    assert!(coloured.contains("\u{1b}[1;31m"));
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        bare.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    bare.push_str(rest);
    assert_eq!(bare, text(&run, 100));
}

#[test]
fn group_below_its_limit_is_not_an_error() {
    let mut run = cases::large();
    let promise = &mut run.judgement.trials[0].promises[0];
    promise.is = "at_most".to_owned();
    promise.to = Some("2000000".to_owned());
    for (index, group) in promise.groups.iter_mut().enumerate() {
        group.knob = None;
        group.expected_share = 2e6;
        group.rate = if index == 77 { 2.4e6 } else { 0.1e6 };
        (group.share, group.low, group.high) = (group.rate, group.rate, group.rate);
    }
    let text = text(&run, 100);
    let first = text.lines().skip_while(|line| !line.contains("promised MB/s")).nth(1).unwrap();
    assert!(first.contains("task78 ") && first.contains("+20.0"), "{first}");
    assert!(text.contains("rate MB/s"), "a limit is about rates, not shares");
}
