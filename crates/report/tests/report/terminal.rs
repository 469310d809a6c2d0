//! The text for the terminal.

use insta::assert_snapshot;

use crate::cases;
use crate::fixture::Run;

fn text(run: &Run, width: usize) -> String {
    assay_report::text(&run.manifest, &run.judgement, width, false)
}

#[test]
fn a_kept_run_reads_as_a_table() {
    assert_snapshot!(text(&cases::kept(), 100));
}

#[test]
fn a_broken_run_names_the_groups_and_the_cause() {
    assert_snapshot!(text(&cases::broken(), 100));
}

#[test]
fn an_undecided_run_says_what_would_decide_it() {
    assert_snapshot!(text(&cases::undecided(), 100));
}

#[test]
fn a_void_run_names_the_check_that_failed() {
    assert_snapshot!(text(&cases::void(), 100));
}

#[test]
fn an_interrupted_run_says_what_is_left() {
    assert_snapshot!(text(&cases::interrupted(), 80));
}

#[test]
fn promises_across_trials_and_numbers_of_others_stand_below_the_trials() {
    assert_snapshot!(text(&cases::across(), 100));
}

#[test]
fn many_groups_are_cut_to_the_worst_with_one_line_a_weight() {
    assert_snapshot!(text(&cases::large(), 100));
}

#[test]
fn no_line_of_a_table_is_wider_than_the_terminal() {
    for width in [60, 80, 100] {
        for line in text(&cases::broken(), width).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
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
fn a_group_below_its_ceiling_is_not_listed_as_an_error() {
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
    assert!(text.contains("rate MB/s"), "a ceiling speaks of rates, not of shares");
}
