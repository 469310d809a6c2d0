//! `assay judge`

mod external_data;

use std::path::PathBuf;

use clap::Args;

use crate::command::index;
use crate::command::sample::refuse_to_judge;
use crate::exit::Code;
use crate::finish_run::{judge_run, open_run, show};
use crate::output;

/// Arguments of `assay judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Run folder
    #[arg(required_unless_present_any = ["fio", "bw_log", "csv"])]
    run: Option<PathBuf>,
    /// Print verdict.json instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    external_data: external_data::ExternalDataArguments,
}

/// Judges a recorded run again with this version and rewrites its verdict and report; or judges numbers
/// that another tool measured.
pub(crate) fn run(arguments: &JudgeArguments) -> Code {
    let Some(run) = &arguments.run else {
        return external_data::run(&arguments.external_data, arguments.json);
    };
    let (folder, run) = match open_run(run) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    if refuse_to_judge(&run.manifest) {
        return Code::Usage;
    }
    match judge_run(&folder, &run) {
        Ok(judgement) => {
            index::update_for_run(&folder);
            show(&folder, &run.manifest, &judgement, arguments.json);
            Code::from_judgement(&judgement)
        }
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}
