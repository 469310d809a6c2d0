//! `assay host`

use assay_audit::{KnownFact, known_facts};
use assay_host::cgroup::KnobTableCheck;
use assay_host::facts::{HostFacts, Layout, Requirement};
use assay_host::knob::KnobFact;
use assay_host::{gather, requirements};
use assay_live::host::{check_knob_table, host_text, knob_check_text};
use assay_run::context::Context;
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
    /// Compare the knob table with this kernel
    ///
    /// With a new group in every hierarchy; exit code 1 on any difference.
    #[arg(long)]
    knobs_check: bool,
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
    /// The interface files of every hierarchy, and why others are absent.
    knobs: &'h [KnobFact],
    /// What is known of this kernel.
    known: &'h [KnownFact],
}

/// The document of `assay host --knobs-check -o json`.
#[derive(Debug, Serialize)]
struct CheckedKnobs<'h> {
    /// Version of this format.
    schema: u32,
    /// `uname -r`.
    kernel: &'h str,
    /// The layout of control groups.
    layout: Layout,
    /// The knob table against new groups.
    check: &'h KnobTableCheck,
}

/// Shows the machine and what can be studied on it.
pub(crate) fn run(arguments: &HostArguments) -> Result<Code, Error> {
    let context = this_host();
    let facts = gather(&context.root).map_err(Error::host)?;
    if arguments.knobs_check {
        return check(&context, &facts, arguments.format.is_json());
    }
    let needs = requirements(&facts);
    let files = assay_host::knobs(&context.root, &facts);
    let known = known_facts(&context.root, &facts.kernel);
    if arguments.format.is_json() {
        output::json(&Host {
            schema: 1,
            facts: &facts,
            requirements: &needs,
            knobs: &files,
            known: &known,
        })?;
    } else {
        output::data(&host_text(&facts, &needs, &files, &known, output::width()));
    }
    Ok(Code::Kept)
}

/// Compares the knob table with this kernel.
fn check(context: &Context, facts: &HostFacts, as_json: bool) -> Result<Code, Error> {
    let check = check_knob_table(context, facts)?;
    let (text, code) = knob_check_text(facts, &check);
    if as_json {
        let (kernel, layout) = (&facts.kernel, facts.cgroup.layout);
        output::json(&CheckedKnobs { schema: 1, kernel, layout, check: &check })?;
    } else {
        output::data(&text);
    }
    Ok(code)
}
