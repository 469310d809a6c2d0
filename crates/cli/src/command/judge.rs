//! `assay judge`

use assay_record::{Run, RunFolder};

use crate::args::JudgeArguments;
use crate::command::run::{judge_run, show};
use crate::exit::Code;
use crate::talk;

/// Judges a recorded run again with this version, and writes its verdict and report anew.
pub(crate) fn run(arguments: &JudgeArguments) -> Code {
    let loaded =
        RunFolder::open(&arguments.run).and_then(|folder| Ok((folder, Run::load(&arguments.run)?)));
    match loaded {
        Ok((folder, run)) => match judge_run(&folder, &run) {
            Ok(judgement) => {
                show(&folder, &run.manifest, &judgement, arguments.json);
                Code::of_verdict(judgement.verdict)
            }
            Err(error) => {
                talk::error(&error);
                Code::Host
            }
        },
        Err(error) => {
            talk::error(&error);
            Code::Usage
        }
    }
}
