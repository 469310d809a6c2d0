//! `assay report`

use std::path::Path;

use crate::args::ReportArguments;
use crate::command::index;
use crate::command::sample;
use crate::exit::Code;
use crate::finish_run::{REPORT, judge_run, open_run};
use crate::output;

/// Rewrites the report of a recorded run.
pub(crate) fn run(arguments: &ReportArguments) -> Code {
    let Some(run) = &arguments.run else {
        let runs = arguments.index.as_deref().unwrap_or(Path::new("runs"));
        return index::write(runs);
    };
    let (folder, run) = match open_run(run) {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let written = if run.manifest.recording.is_some() {
        sample::write(&folder, &run)
    } else {
        judge_run(&folder, &run).map(|_| ())
    };
    match written {
        // The reason was already printed.
        Ok(()) if !folder.has(REPORT) => Code::Usage,
        Ok(()) => {
            index::update_for_run(&folder);
            output::data(&folder.file("report.html").display().to_string());
            Code::Kept
        }
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}
