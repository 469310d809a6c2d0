//! `assay report`

use assay_record::{Run, RunFolder};

use crate::args::ReportArguments;
use crate::command::run::judge_run;
use crate::exit::Code;
use crate::talk;

/// Writes the report of a recorded run again.
pub(crate) fn run(arguments: &ReportArguments) -> Code {
    let loaded =
        RunFolder::open(&arguments.run).and_then(|folder| Ok((folder, Run::load(&arguments.run)?)));
    let (folder, run) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            talk::error(&error);
            return Code::Usage;
        }
    };
    match judge_run(&folder, &run) {
        Ok(_) => {
            talk::data(&folder.file("report.html").display().to_string());
            Code::Kept
        }
        Err(error) => {
            talk::error(&error);
            Code::Host
        }
    }
}
