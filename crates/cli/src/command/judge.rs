//! `assay judge`

use std::path::PathBuf;

use assay_cause::conclude::judge_run;
use assay_cause::several_runs::{earlier_runs, judge_runs};
use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Manifest, RunFolder};
use assay_run::recorded_run::open_run;
use assay_run::recording::has_promises;
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::for_ci::CiArguments;
use crate::observer::Terminal;
use crate::output;
use crate::shared_arguments::FormatArguments;

/// Arguments of `assay judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Run folder; several of one study together
    #[arg(required = true, value_name = "RUN")]
    run: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    ci: CiArguments,
}

/// Judges a recorded run again with this version and rewrites its verdict and report; or several runs together.
pub(crate) fn run(arguments: &JudgeArguments) -> Result<Code, Error> {
    let ci = arguments.ci.open()?;
    let run = match arguments.run.as_slice() {
        [run] => run,
        runs => {
            let (manifest, judgement) = judge_runs(runs, &mut Terminal)?;
            match arguments.format.is_json() {
                true => output::json(&judgement)?,
                false => output::data_painted(|color| {
                    assay_report::text(&manifest, &judgement, output::width(), color)
                }),
            }
            return Ok(judgement.code_of_recorded(&manifest));
        }
    };
    let (folder, run) = open_run(run, &mut Terminal)?;
    has_promises(&run.manifest)?;
    let judgement = judge_run(&folder, &run).map_err(Error::host)?;
    if !ci.has_stdout() {
        show(&folder, &run.manifest, &judgement, arguments.format.is_json());
    }
    let code = judgement.code_of_recorded(&run.manifest);
    Ok(ci.conclude(&judgement, &run.manifest, code))
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
    if let Some(together) = earlier_runs(folder, manifest, judgement) {
        output::data(&together);
    }
    output::data(&format!("report: {}", folder.file("report.html").display()));
}
