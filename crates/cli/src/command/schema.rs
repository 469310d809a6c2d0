//! `assay schema`

use crate::exit::Code;
use crate::talk;

/// Prints the JSON schema of study files.
pub(crate) fn run() -> Code {
    talk::data(&format!("{:#}", assay_study::schema()));
    Code::Kept
}
