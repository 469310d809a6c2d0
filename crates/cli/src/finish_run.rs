//! Judges a run folder, writes its report, and shows both; for the command that made the run and for
//! later ones.

use std::path::Path;

use assay_run_folder::{Manifest, Run, RunFolder, unlisted_samples};
use assay_verdict::Judgement;

use crate::command::predict;
use crate::exit::Code;
use crate::output;

/// Opens a recorded run; errors are printed.
pub(crate) fn open_run(path: &Path) -> Result<(RunFolder, Run), Code> {
    let folder = RunFolder::open(path).map_err(|error| refuse(&error))?;
    let run = read_run(&folder)?;
    Ok((folder, run))
}

/// Reads the run in an open folder; prints errors and which samples are left out.
pub(crate) fn read_run(folder: &RunFolder) -> Result<Run, Code> {
    let run = Run::from_folder(folder).map_err(|error| refuse(&error))?;
    for name in unlisted_samples(folder, &run.manifest).unwrap_or_default() {
        output::message(&format!(
            "note: samples/{name} belongs to no finished repeat and is left out: the repeat is still \
             running, or the run was killed"
        ));
    }
    Ok(run)
}

fn refuse(error: &assay_run_folder::Error) -> Code {
    output::error(error);
    Code::Usage
}

/// Judges a run and writes its verdict and its report.
pub(crate) fn judge_run(
    folder: &RunFolder,
    run: &Run,
) -> Result<Judgement, assay_run_folder::Error> {
    let judgement = assay_judge::judge(&run.manifest, &run.samples);
    folder.write_json("verdict.json", &judgement)?;
    predict::score_prediction(folder, &judgement);
    write_report(folder, run, &judgement)?;
    Ok(judgement)
}

/// File name of a run's report.
pub(crate) const REPORT: &str = "report.html";

/// Writes the report of a judged run; for a search (`tune.json`) with its result.
pub(crate) fn write_report(
    folder: &RunFolder,
    run: &Run,
    judgement: &Judgement,
) -> Result<(), assay_run_folder::Error> {
    let search = folder.has("tune.json");
    let written = match search.then(|| folder.read_json("tune.json")).transpose()? {
        Some(tuning) => {
            assay_report::html_of_tuning(&run.manifest, judgement, &run.samples, &tuning)
        }
        None => assay_report::html(&run.manifest, judgement, &run.samples),
    };
    match written {
        Ok(html) => folder.write_text(REPORT, &html)?,
        Err(error) => {
            // The report of an earlier judgement would be mistaken for this one's.
            folder.dir().remove_file(REPORT)?;
            output::error(&format!("the report could not be written: {error}"));
        }
    }
    Ok(())
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
    if let Some(score) = predict::read_score(folder) {
        output::data(&assay_report::score_text(&score, output::width()));
    }
    output::data(&format!("report: {}", folder.file("report.html").display()));
}
