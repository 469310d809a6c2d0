//! Records the errors of a run as a document, for the program that started it.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use assay_judge::verdict::RunErrors;
use assay_study::plan::Plan;
use assay_study::render;
use assay_sys::exit::{Code, Error, Findings};

use crate::observer::{CurrentSetting, Observer};

/// An observer that passes everything on to another one and keeps the errors.
#[derive(Debug)]
pub struct ErrorRecord<O> {
    to: O,
    errors: Vec<String>,
}

impl<O> ErrorRecord<O> {
    /// An observer that passes everything on to `to`.
    #[must_use]
    pub const fn new(to: O) -> Self {
        Self { to, errors: Vec::new() }
    }

    /// The document for this result.
    #[must_use]
    pub fn document(&self, result: &Result<Code, Error>) -> RunErrors {
        let (code, last) = match result {
            Ok(code) => (*code, Vec::new()),
            Err(error) => (error.code, error.reasons.clone()),
        };
        let findings = result.as_ref().err().and_then(|error| error.findings.as_ref());
        let findings = findings
            .map(|findings| render(&findings.findings, &findings.shown_as, &findings.text, false));
        RunErrors {
            schema: RunErrors::SCHEMA,
            code: code as i32,
            errors: self.errors.iter().cloned().chain(findings).chain(last).collect(),
        }
    }

    /// Writes the document for this result to the path that the user named, and returns the result.
    ///
    /// # Errors
    /// The result is one, or the document cannot be written.
    pub fn write(&self, path: &Path, result: Result<Code, Error>) -> Result<Code, Error> {
        let text = serde_json::to_string_pretty(&self.document(&result)).map_err(Error::host)?;
        let written = assay_sys::files::replace(path, format!("{text}\n").as_bytes());
        result.and_then(|code| written.map(|()| code).map_err(Error::host))
    }
}

impl<O: Observer> Observer for ErrorRecord<O> {
    fn message(&mut self, text: &str) {
        self.to.message(text);
    }

    fn error(&mut self, error: &dyn Display) {
        self.errors.push(error.to_string());
        self.to.error(error);
    }

    fn findings(&mut self, findings: &Findings) {
        self.to.findings(findings);
    }

    fn begin_run(&mut self, study: &str, plan: &Plan) -> Box<dyn crate::runner::Observer> {
        self.to.begin_run(study, plan)
    }

    fn begin_search(
        &mut self,
        current: CurrentSetting,
        length: Duration,
    ) -> Box<dyn crate::runner::Observer> {
        self.to.begin_search(current, length)
    }
}
