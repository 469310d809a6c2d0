//! `assay schema`

use crate::exit::Code;
use crate::output;

/// Prints the JSON schema of study files.
pub(crate) fn run() -> Code {
    output::data(&format!("{:#}", assay_study::schema()));
    Code::Kept
}
