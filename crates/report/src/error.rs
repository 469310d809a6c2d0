//! Errors of report generation.

use std::fmt;

/// A report that could not be built. Only a defect of a template or figure causes it: gaps in the
/// data are shown on the page.
#[derive(Debug)]
pub struct Error {
    /// The failed operation: `render the page`, `write figure trial-1-bandwidth as JSON`.
    pub operation: String,
    /// The cause, from the template engine or the JSON writer.
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

impl Error {
    pub(crate) fn new(
        operation: impl Into<String>,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { operation: operation.into(), cause: cause.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The alternate form of the template engine's error includes the line of the template.
        write!(
            f,
            "failed to {}: {:#}\nhint: the run itself is intact; `assay report RUN` writes the \
             page again with a corrected version",
            self.operation, self.cause
        )
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.cause)
    }
}
