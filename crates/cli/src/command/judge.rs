//! `assay judge`

mod outside;

use std::path::PathBuf;

use clap::Args;

use crate::command::index;
use crate::command::sample::refuse_to_judge;
use crate::exit::Code;
use crate::judged::{judge_run, open_run, show};
use crate::talk;

/// What `assay judge` takes.
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// The folder of a run
    #[arg(required_unless_present_any = ["fio", "bw_log", "csv"])]
    run: Option<PathBuf>,
    /// Print verdict.json instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    outside: outside::OutsideArguments,
}

/// Judges a recorded run again with this version, and writes its verdict and report anew; or
/// judges numbers that somebody else measured.
pub(crate) fn run(arguments: &JudgeArguments) -> Code {
    let Some(run) = &arguments.run else {
        return outside::run(&arguments.outside, arguments.json);
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
            index::update_beside(&folder);
            show(&folder, &run.manifest, &judgement, arguments.json);
            Code::of_judgement(&judgement)
        }
        Err(error) => {
            talk::error(&error);
            Code::Host
        }
    }
}
