//! `assay report`

use crate::args::ReportArguments;
use crate::command::run::{judge_run, open_run};
use crate::command::sample;
use crate::exit::Code;
use crate::talk;

/// Writes the report of a recorded run again.
pub(crate) fn run(arguments: &ReportArguments) -> Code {
    let (folder, run) = match open_run(&arguments.run) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let written = if run.manifest.recording.is_some() {
        sample::write(&folder, &run)
    } else {
        judge_run(&folder, &run).map(|_| ())
    };
    match written {
        Ok(()) => {
            talk::data(&folder.file("report.html").display().to_string());
            Code::Kept
        }
        Err(error) => {
            talk::error(&error);
            Code::Host
        }
    }
}
