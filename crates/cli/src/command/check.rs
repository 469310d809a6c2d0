//! `assay check`

use std::path::Path;

use assay_run::overrides::StudyChoice;
use assay_run::plan_document::plan_document;
use assay_run::plan_text::{plan_text, steps_text};
use assay_run::prepare::{facts_for, plan_for, refuse_without_room};
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::observer::{load, this_host};
use crate::output;
use crate::shared_arguments::{FormatArguments, JobFileArguments, StudyArguments};

/// Arguments of `assay check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    study: StudyArguments,
    #[command(flatten)]
    job_files: JobFileArguments,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    steps: StepsArguments,
}

/// Whether to show the commands.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct StepsArguments {
    /// Print the steps as commands of a shell
    #[arg(long)]
    pub(crate) explain_steps: bool,
}

/// Prints the mistakes of a study, or its plan for this host.
pub(crate) fn run(arguments: &CheckArguments) -> Result<Code, Error> {
    let choice = arguments.job_files.with(&arguments.study);
    check(&choice, None, arguments.format.is_json(), arguments.steps)
}

/// The folder is that of a run that would follow.
pub(crate) fn check(
    choice: &StudyChoice,
    folder: Option<&Path>,
    as_json: bool,
    steps: StepsArguments,
) -> Result<Code, Error> {
    let context = this_host();
    let loaded = load(choice, as_json)?;
    let facts = facts_for(&context, &loaded.study)?;
    let mut plan = plan_for(&context, &loaded.study, &facts, choice.seed);
    refuse_without_room(&mut plan, folder.unwrap_or(Path::new("runs")));
    if as_json {
        output::json(&plan_document(&loaded, &plan))?;
    } else if steps.explain_steps {
        output::data(&steps_text(&loaded.study.name, &plan));
    } else {
        output::data(&plan_text(&loaded, &plan));
    }
    Ok(if plan.refusals.is_empty() { Code::Kept } else { Code::Host })
}
