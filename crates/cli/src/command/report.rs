//! `assay report`

use std::path::Path;

use assay_session::{REPORT, judge_run, open_run, update_index, write_recording};

use crate::args::ReportArguments;
use crate::exit::Code;
use crate::observer::{Terminal, refuse};
use crate::output;

/// Rewrites the report of a recorded run.
pub(crate) fn run(arguments: &ReportArguments) -> Code {
    let Some(run) = &arguments.run else {
        let runs = arguments.index.as_deref().unwrap_or(Path::new("runs"));
        return write_index(runs);
    };
    let (folder, run) = match open_run(run, &mut Terminal) {
        Ok(opened) => opened,
        Err(error) => return refuse(&error),
    };
    let written = if run.manifest.recording.is_some() {
        write_recording(&folder, &run, &mut Terminal)
    } else {
        judge_run(&folder, &run, &mut Terminal).map(|_| ())
    };
    match written {
        // The reason was already printed.
        Ok(()) if !folder.has(REPORT) => Code::Usage,
        Ok(()) => {
            update_index(&folder, &mut Terminal);
            output::data(&folder.file("report.html").display().to_string());
            Code::Kept
        }
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}

/// Writes the list of all runs in a folder.
fn write_index(folder: &Path) -> Code {
    match assay_export::update_index(folder) {
        Ok(count) => {
            output::data(&folder.join("index.html").display().to_string());
            output::message(&format!("{count} runs"));
            Code::Kept
        }
        Err(error) => {
            output::error(&error);
            Code::Usage
        }
    }
}
