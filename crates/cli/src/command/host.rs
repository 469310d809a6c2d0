//! `assay host`

use assay_audit::{KnownFact, known_facts};
use assay_host::facts::{HostFacts, Requirement};
use assay_host::{gather, requirements};
use assay_live::host::host_text;
use assay_sys::exit::{Code, Error};
use clap::Args;
use serde::Serialize;

use crate::observer::this_host;
use crate::output;
use crate::shared_arguments::FormatArguments;

/// Arguments of `assay host`.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    #[command(flatten)]
    format: FormatArguments,
}

/// The document of `assay host -o json`.
#[derive(Debug, Serialize)]
struct Host<'h> {
    /// Version of this format.
    schema: u32,
    /// The machine.
    facts: &'h HostFacts,
    /// What studies need, and whether it is there.
    requirements: &'h [Requirement],
    /// What is known of this kernel.
    known: &'h [KnownFact],
}

/// Shows the machine and what can be studied on it.
pub(crate) fn run(arguments: &HostArguments) -> Result<Code, Error> {
    let context = this_host();
    let facts = gather(&context.root).map_err(Error::host)?;
    let needs = requirements(&facts);
    let known = known_facts(&context.root, &facts.kernel);
    if arguments.format.is_json() {
        output::json(&Host { schema: 1, facts: &facts, requirements: &needs, known: &known })?;
    } else {
        output::data(&host_text(&facts, &needs, &known));
    }
    Ok(Code::Kept)
}
