//! An observer for tests.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use assay_record::run_folder::{Manifest, RunFolder};
use assay_run::observer::{CurrentSetting, Observer};
use assay_study::plan::{Plan, RepeatId};
use assay_study::render;
use assay_sys::exit::Findings;

/// An observer that collects all messages and shows no progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcript(Rc<RefCell<Vec<String>>>);

impl Transcript {
    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.borrow().clone()
    }
}

impl Observer for Transcript {
    fn message(&mut self, text: &str) {
        self.0.borrow_mut().push(text.to_owned());
    }

    fn error(&mut self, error: &dyn Display) {
        self.0.borrow_mut().push(format!("error: {error}"));
    }

    fn findings(&mut self, findings: &Findings) {
        let text = render(&findings.findings, &findings.shown_as, &findings.text, false);
        self.0.borrow_mut().extend(text.lines().map(str::to_owned));
    }

    fn begin_run(&mut self, _: &str, _: &Plan) -> Box<dyn assay_run::runner::Observer> {
        Box::new(self.clone())
    }

    fn begin_search(
        &mut self,
        _: CurrentSetting,
        _: Duration,
    ) -> Box<dyn assay_run::runner::Observer> {
        Box::new(self.clone())
    }
}

impl assay_run::runner::Observer for Transcript {
    fn phase(&mut self, _: RepeatId, _: &str) {}
    fn progress(&mut self, _: f64) {}
    fn running(&mut self, _: RepeatId, _: Duration, _: Duration) {}
    fn remark(&mut self, text: &str) {
        self.message(text);
    }
    fn ended(&mut self, _: RepeatId, _: &Manifest, _: &RunFolder) {}
    fn restoring(&mut self) {}
}
