//! What the live views show, on a screen that only records it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use assay_record::run_folder::{Run, RunFolder};
use assay_study::plan::RepeatId;

use super::*;
use crate::load::load;
use crate::observer::CurrentSetting;
use crate::overrides::StudyChoice;
use crate::prepare::plan_for;
use crate::replay::{as_recorded_now, context};
use crate::runner::Observer;

/// Records frames and lines, in their order.
#[derive(Clone)]
struct Recorder {
    shows_frames: bool,
    shown: Rc<RefCell<Vec<String>>>,
}

const STYLE: Style = Style { columns: 80, rows: 24, color: false, unicode: false };

impl Recorder {
    fn new(shows_frames: bool) -> Self {
        Self { shows_frames, shown: Rc::default() }
    }

    fn take(&self) -> Vec<String> {
        self.shown.take()
    }
}

impl LiveScreen for Recorder {
    fn shows_frames(&self) -> bool {
        self.shows_frames
    }

    fn draw(&mut self, frame: &dyn Fn(Style) -> Vec<String>) {
        if self.shows_frames {
            self.shown.borrow_mut().push(frame(STYLE).join("\n"));
        }
    }

    fn print(&mut self, line: &dyn Fn(Style) -> String) {
        self.shown.borrow_mut().push(format!("> {}", line(STYLE)));
    }
}

const FIRST: RepeatId = RepeatId { trial: 0, repeat: 0 };

/// The view of a recorded run whose only repeat has ended.
fn run_view(shows_frames: bool) -> Vec<String> {
    let temp = tempfile::tempdir().unwrap();
    let path = as_recorded_now("one-cpu", &temp);
    let (context, _) = context(&path, &temp);
    let choice = StudyChoice { repeats: Some(1), ..StudyChoice::named("io-weight") };
    let study = load(&choice).unwrap().study;
    let plan = plan_for(&context, &study, context.facts.as_ref().unwrap(), 1);
    let mut plan = assay_study::plan::interleave(vec![("a".to_owned(), plan.trials[0].clone())], 1);
    plan.trials[0].factors = [("groups".to_owned(), assay_study::Scalar::Integer(4))].into();
    let screen = Recorder::new(shows_frames);
    let mut view = RunProgress::new(screen.clone(), "one-cpu", &plan);
    view.phase(FIRST, "make groups");
    view.running(FIRST, Duration::from_secs(1), Duration::from_secs(8));
    let folder = RunFolder::open(&path).unwrap();
    let manifest = Run::from_folder(&folder).unwrap().manifest;
    view.ended(FIRST, &manifest, &folder);
    view.restoring();
    screen.take()
}

#[test]
fn a_run_without_frames_is_shown_as_lines_of_phases_and_trials() {
    let lines = run_view(false);
    assert_eq!(lines[0], "> repeat 1/1: make groups");
    assert!(lines[1].contains("groups = 4"), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_frame_shows_the_phase_and_is_not_redrawn_for_each_call() {
    let shown = run_view(true);
    assert!(shown[0].contains("one-cpu") && shown[0].contains("make groups"), "{shown:?}");
    assert!(shown[1].starts_with("> "), "the second frame comes too soon: {shown:?}");
    assert!(shown[2].contains("restore the host"), "{shown:?}");
}

#[test]
fn a_search_names_each_setting_once_where_no_frames_are_shown() {
    let current = CurrentSetting::default();
    "as it is".clone_into(&mut current.borrow_mut());
    let screen = Recorder::new(false);
    let length = Duration::from_secs(300);
    let mut view = SearchProgress::new(screen.clone(), Rc::clone(&current), length);
    for text in ["make groups", "run"] {
        view.phase(FIRST, text);
    }
    "nr_requests 64".clone_into(&mut current.borrow_mut());
    view.phase(FIRST, "run");
    let lines = screen.take();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].ends_with("as it is") && lines[1].ends_with("nr_requests 64"), "{lines:?}");
}

#[test]
fn a_frame_of_a_search_is_cut_to_the_width_and_escaped() {
    let current = CurrentSetting::default();
    format!("\u{1b}[2J{}", "x".repeat(200)).clone_into(&mut current.borrow_mut());
    let screen = Recorder::new(true);
    SearchProgress::new(screen.clone(), current, Duration::from_secs(300)).phase(FIRST, "run");
    let frames = screen.take();
    assert_eq!(frames[0].chars().count(), STYLE.columns);
    assert!(!frames[0].contains('\u{1b}'), "{frames:?}");
}

#[test]
fn a_bar_always_has_the_same_width() {
    assert_eq!(bar(0.5), format!("[{}{}]", "=".repeat(12), " ".repeat(12)));
    assert_eq!(bar(7.0), format!("[{}]", "=".repeat(24)));
    assert_eq!(bar(f64::NAN), format!("[{}]", " ".repeat(24)));
}
