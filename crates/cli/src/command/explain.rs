//! `assay explain`

use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::codes::explain_code;
use crate::output;

/// Arguments of `assay explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Code that Assay printed, such as `C-TAG-CAP`, `A-ANCESTOR`, `K-BFQ-CAP` or `A0102`
    code: String,
}

/// Columns of running text.
const READABLE: usize = 100;

/// Prints what a code means.
pub(crate) fn run(arguments: &ExplainArguments) -> Result<Code, Error> {
    let text = explain_code(&arguments.code)?;
    let width = output::width().clamp(40, READABLE);
    let lines = text.lines().flat_map(|line| assay_sys::escape::page::wrap(line, width, "    "));
    output::data(&lines.collect::<Vec<_>>().join("\n"));
    Ok(Code::Kept)
}
