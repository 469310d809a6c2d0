//! `assay judge`

use crate::args::JudgeArguments;
use crate::command::run::{judge_run, open_run, show};
use crate::command::sample::refuse_to_judge;
use crate::exit::Code;
use crate::talk;

/// Judges a recorded run again with this version, and writes its verdict and report anew.
pub(crate) fn run(arguments: &JudgeArguments) -> Code {
    let (folder, run) = match open_run(&arguments.run) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    if refuse_to_judge(&run.manifest) {
        return Code::Usage;
    }
    match judge_run(&folder, &run) {
        Ok(judgement) => {
            show(&folder, &run.manifest, &judgement, arguments.json);
            Code::of_verdict(judgement.verdict)
        }
        Err(error) => {
            talk::error(&error);
            Code::Host
        }
    }
}
