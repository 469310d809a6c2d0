//! `assay check`

use assay_session::{facts_for, plan_document, plan_for, plan_text};

use crate::args::{CheckArguments, StudyArguments};
use crate::exit::Code;
use crate::observer::{load, refuse, this_host};
use crate::output;

/// Prints the mistakes of a study, or its plan for this host.
pub(crate) fn run(arguments: &CheckArguments) -> Code {
    check(&arguments.study, arguments.json)
}

pub(crate) fn check(arguments: &StudyArguments, as_json: bool) -> Code {
    let context = this_host();
    let loaded = match load(&arguments.choice(), as_json) {
        Ok(loaded) => loaded,
        Err(code) => return code,
    };
    let facts = match facts_for(&context, &loaded.study) {
        Ok(facts) => facts,
        Err(error) => return refuse(&error),
    };
    let plan = plan_for(&context, &loaded.study, &facts, arguments.seed);
    if as_json {
        output::data(&format!("{:#}", plan_document(&loaded, &plan)));
    } else {
        output::data(&plan_text(&loaded, &plan));
    }
    if plan.refusals.is_empty() { Code::Kept } else { Code::Host }
}
