//! `assay host`

use assay_cgroup::KnobsCheck;
use assay_facts::HostFacts;
use assay_host::{gather, requirements};
use assay_kernel::Root;
use assay_session::{check_knob_table, host_text};
use serde_json::json;

use crate::args::HostArguments;
use crate::exit::Code;
use crate::observer::{refuse, this_host};
use crate::output;

/// Shows the machine and what can be studied on it.
pub(crate) fn run(arguments: &HostArguments) -> Code {
    let facts = match gather(&Root::real()) {
        Ok(facts) => facts,
        Err(error) => {
            output::error(&error);
            return Code::Host;
        }
    };
    if arguments.knobs_check {
        return match check_knob_table(&this_host(), &facts) {
            Ok(check) => print_check(&facts, &check, arguments.json),
            Err(error) => refuse(&error),
        };
    }
    let needs = requirements(&facts);
    let files = assay_host::knobs(&Root::real(), &facts);
    if arguments.json {
        let document =
            json!({ "schema": 1, "facts": facts, "requirements": needs, "knobs": files });
        output::data(&format!("{document:#}"));
    } else {
        output::data(&host_text(&facts, &needs, &files, output::width()));
    }
    Code::Kept
}

fn print_check(facts: &HostFacts, check: &KnobsCheck, json: bool) -> Code {
    if json {
        let document = serde_json::json!({
            "schema": 1, "kernel": facts.kernel, "layout": facts.cgroup.layout, "check": check,
        });
        output::data(&format!("{document:#}"));
    } else {
        for difference in &check.differences {
            output::data(&format!("differs: {difference}"));
        }
        for (name, why) in check.absent.iter().chain(&check.left_out).chain(&check.not_looked_at) {
            output::data(&format!("{name}: {why}"));
        }
        output::data(&format!(
            "{} interface files compared on Linux {}, {} differ from the table",
            check.compared,
            facts.kernel,
            check.differences.len()
        ));
    }
    match (check.compared, check.differences.is_empty()) {
        (0, _) => Code::Host,
        (_, true) => Code::Kept,
        (_, false) => Code::Broken,
    }
}
