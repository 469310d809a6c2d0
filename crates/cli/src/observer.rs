//! The terminal as a session's observer, and its errors on stderr.

use std::fmt::Display;
use std::time::Duration;

use assay_run::context::Context;
use assay_run::load::Loaded;
use assay_run::observer::{CurrentSetting, Observer};
use assay_run::overrides::StudyChoice;
use assay_run::progress::{RunProgress, SearchProgress};
use assay_study::plan::Plan;
use assay_study::render;
use assay_sys::exit::{Code, Error, Findings};

use crate::live_terminal::LiveTerminal;
use crate::output;

/// Messages to stderr, and live views.
pub(crate) struct Terminal;

impl Observer for Terminal {
    fn message(&mut self, text: &str) {
        output::message(text);
    }

    fn error(&mut self, error: &dyn Display) {
        output::error(error);
    }

    fn findings(&mut self, findings: &Findings) {
        show_findings(findings);
    }

    fn begin_run(&mut self, study: &str, plan: &Plan) -> Box<dyn assay_run::runner::Observer> {
        Box::new(RunProgress::new(LiveTerminal::new(), study, plan))
    }

    fn begin_search(
        &mut self,
        current: CurrentSetting,
        length: Duration,
    ) -> Box<dyn assay_run::runner::Observer> {
        Box::new(SearchProgress::new(LiveTerminal::new(), current, length))
    }
}

/// This host, with the command line of this program.
pub(crate) fn this_host() -> Context {
    Context::of_this_host(std::env::args().collect())
}

/// Loads the chosen study and shows what was found in it; mistakes with `as_json` on stdout.
pub(crate) fn load(choice: &StudyChoice, as_json: bool) -> Result<Loaded, Error> {
    match assay_run::load::load(choice) {
        Ok(loaded) => {
            show_findings(&loaded.findings);
            Ok(loaded)
        }
        Err(mut error) => {
            if let Some(findings) = error.findings.take_if(|_| as_json) {
                output::data(&serde_json::json!(findings.document()).to_string());
            }
            Err(error)
        }
    }
}

fn show_findings(findings: &Findings) {
    if !findings.findings.is_empty() {
        output::urgent_painted(|color| {
            render(&findings.findings, &findings.shown_as, &findings.text, color)
        });
    }
}

/// Prints an error and returns its exit code.
pub(crate) fn refuse(error: &Error) -> Code {
    for line in &error.context {
        output::urgent(line);
    }
    if let Some(findings) = &error.findings {
        show_findings(findings);
    }
    for reason in &error.reasons {
        output::error(reason);
    }
    if let Some(note) = &error.note {
        output::urgent(note);
    }
    error.code
}
