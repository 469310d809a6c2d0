//! `assay host`

use assay_facts::HostFacts;
use assay_host::{gather, requirements};
use assay_session::{
    Code, Context, Error, check_knob_table, host_text, knob_check_text, known_facts,
};
use clap::Args;
use serde_json::json;

use crate::observer::this_host;
use crate::output;

/// Arguments of `assay host`.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Compare the knob table with a new group in every hierarchy; exit code 1 on any difference
    #[arg(long)]
    knobs_check: bool,
}

/// Shows the machine and what can be studied on it.
pub(crate) fn run(arguments: &HostArguments) -> Result<Code, Error> {
    let context = this_host();
    let facts = gather(&context.root).map_err(Error::host)?;
    if arguments.knobs_check {
        return check(&context, &facts, arguments.json);
    }
    let needs = requirements(&facts);
    let files = assay_host::knobs(&context.root, &facts);
    let known = known_facts(&context.root, &facts.kernel);
    if arguments.json {
        let document = json!({
            "schema": 1, "facts": facts, "requirements": needs, "knobs": files, "known": known,
        });
        output::data(&format!("{document:#}"));
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
        let document = json!({
            "schema": 1, "kernel": facts.kernel, "layout": facts.cgroup.layout, "check": check,
        });
        output::data(&format!("{document:#}"));
    } else {
        output::data(&text);
    }
    Ok(code)
}
