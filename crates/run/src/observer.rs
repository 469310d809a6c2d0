//! What a session says while it works. Nothing in this crate prints.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use assay_study::plan::Plan;
use assay_sys::exit::Findings;

/// Receives messages and provides the views of runs.
pub trait Observer {
    /// A remark or an announcement.
    fn message(&mut self, text: &str);
    /// A failure that does not end what is being done.
    fn error(&mut self, error: &dyn Display);
    /// Remarks on a study that was loaded on behalf of the caller.
    fn findings(&mut self, findings: &Findings);
    /// A run of this plan begins; the view is dropped at its end.
    fn begin_run(&mut self, study: &str, plan: &Plan) -> Box<dyn crate::runner::Observer>;
    /// A search of this length begins; `current` names the setting being tried.
    fn begin_search(
        &mut self,
        current: CurrentSetting,
        length: Duration,
    ) -> Box<dyn crate::runner::Observer>;
}

/// Name of the setting that a search is trying.
pub type CurrentSetting = Rc<RefCell<String>>;
