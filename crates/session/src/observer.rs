//! What a session says while it works. Nothing in this crate prints.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use assay_plan::{Plan, RepeatId};
use assay_run_folder::{Manifest, RunFolder};

use crate::findings::Findings;
use crate::look_taker::SharedLook;

/// Receives messages and provides the views of runs.
pub trait Observer {
    /// A remark or an announcement.
    fn message(&mut self, text: &str);
    /// A failure that does not end what is being done.
    fn error(&mut self, error: &dyn Display);
    /// Remarks on a study that was loaded on behalf of the caller.
    fn findings(&mut self, findings: &Findings);
    /// A run of this plan begins; the view is dropped at its end.
    fn begin_run(&mut self, study: &str, plan: &Plan) -> RunView;
    /// A search of this length begins; `current` names the setting being tried.
    fn begin_search(
        &mut self,
        current: CurrentSetting,
        length: Duration,
    ) -> Box<dyn assay_runner::Observer>;
}

/// Name of the setting that a search is trying.
pub type CurrentSetting = Rc<RefCell<String>>;

/// The view of one run.
pub struct RunView {
    /// Receives the progress.
    pub progress: Box<dyn assay_runner::Observer>,
    /// Where interim looks are written to, if the view shows them.
    pub looks: Option<SharedLook>,
}

/// An observer that collects all messages and shows no progress.
///
/// ```
/// use assay_session::{Observer, Transcript};
/// let mut transcript = Transcript::default();
/// transcript.message("one remark");
/// transcript.error(&"one failure");
/// assert_eq!(transcript.lines(), ["one remark", "error: one failure"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Transcript(Rc<RefCell<Vec<String>>>);

impl Transcript {
    /// The lines so far.
    ///
    /// ```
    /// assert!(assay_session::Transcript::default().lines().is_empty());
    /// ```
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
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
        let text = findings.render(false);
        self.0.borrow_mut().extend(text.lines().map(str::to_owned));
    }

    fn begin_run(&mut self, _: &str, _: &Plan) -> RunView {
        RunView { progress: Box::new(self.clone()), looks: None }
    }

    fn begin_search(&mut self, _: CurrentSetting, _: Duration) -> Box<dyn assay_runner::Observer> {
        Box::new(self.clone())
    }
}

impl assay_runner::Observer for Transcript {
    fn phase(&mut self, _: RepeatId, _: &str) {}
    fn progress(&mut self, _: f64) {}
    fn running(&mut self, _: RepeatId, _: Duration, _: Duration) {}
    fn remark(&mut self, text: &str) {
        self.message(text);
    }
    fn ended(&mut self, _: RepeatId, _: &Manifest, _: &RunFolder) {}
    fn restoring(&mut self) {}
}
