//! `assay judge`

mod external_data;

use std::path::PathBuf;

use assay_run_folder::{Manifest, RunFolder};
use assay_session::{Code, Error, has_promises, judge_run, open_run, update_index};
use assay_verdict::Judgement;
use clap::Args;

use crate::for_ci::CiArguments;
use crate::observer::Terminal;
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
    ci: CiArguments,
    #[command(flatten)]
    external_data: external_data::ExternalDataArguments,
}

/// Judges a recorded run again with this version and rewrites its verdict and report; or judges numbers
/// that another tool measured.
pub(crate) fn run(arguments: &JudgeArguments) -> Result<Code, Error> {
    let ci = arguments.ci.open()?;
    let Some(run) = &arguments.run else {
        return external_data::run(&arguments.external_data, ci, arguments.json);
    };
    let (folder, run) = open_run(run, &mut Terminal)?;
    has_promises(&run.manifest)?;
    let judgement = judge_run(&folder, &run, &mut Terminal).map_err(Error::host)?;
    update_index(&folder, &mut Terminal);
    if !ci.has_stdout() {
        show(&folder, &run.manifest, &judgement, arguments.json);
    }
    let code = Code::of_recorded(&run.manifest, &judgement);
    Ok(ci.conclude(&judgement, Some(&run.manifest), code))
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
    output::data(&format!("report: {}", folder.file("report.html").display()));
}
