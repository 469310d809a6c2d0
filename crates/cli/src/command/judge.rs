//! `assay judge`

mod external_data;

use std::path::PathBuf;

use assay_run_folder::{Manifest, RunFolder};
use assay_session::{has_promises, judge_run, open_run, read_score, update_index};
use assay_verdict::Judgement;
use clap::Args;

use crate::exit::Code;
use crate::observer::{Terminal, refuse};
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
    let (folder, run) = match open_run(run, &mut Terminal) {
        Ok(opened) => opened,
        Err(error) => return refuse(&error),
    };
    if let Err(error) = has_promises(&run.manifest) {
        return refuse(&error);
    }
    match judge_run(&folder, &run, &mut Terminal) {
        Ok(judgement) => {
            update_index(&folder, &mut Terminal);
            show(&folder, &run.manifest, &judgement, arguments.json);
            Code::from_judgement(&judgement)
        }
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}

/// Shows a judgement: the JSON document or the table.
pub(crate) fn show(folder: &RunFolder, manifest: &Manifest, judgement: &Judgement, as_json: bool) {
    if as_json {
        match folder.text("verdict.json") {
            Ok(text) => output::data(&text),
            Err(cause) => output::error(&cause),
        }
        return;
    }
    let width = output::width();
    output::data_painted(|color| assay_report::text(manifest, judgement, width, color));
    if let Some(score) = read_score(folder) {
        output::data(&assay_report::score_text(&score, output::width()));
    }
    output::data(&format!("report: {}", folder.file("report.html").display()));
}
