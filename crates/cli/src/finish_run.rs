//! From a run folder to its verdict, its report, and what is shown of both: the way out, for the
//! command that made the run and for those that come later.

use std::path::Path;

use assay_run_folder::{Manifest, Run, RunFolder, unnamed_samples};
use assay_verdict::Judgement;

use crate::command::predict;
use crate::exit::Code;
use crate::output;

/// Opens a recorded run; what is wrong with it is printed.
pub(crate) fn open_run(path: &Path) -> Result<(RunFolder, Run), Code> {
    let folder = RunFolder::open(path).map_err(|error| no_run(&error))?;
    let run = read_run(&folder)?;
    Ok((folder, run))
}

/// Reads the run in a folder that is open; what is wrong with it is printed, and what is left out.
pub(crate) fn read_run(folder: &RunFolder) -> Result<Run, Code> {
    let run = Run::of(folder).map_err(|error| no_run(&error))?;
    for name in unnamed_samples(folder, &run.manifest).unwrap_or_default() {
        output::say(&format!(
            "note: samples/{name} belongs to no repeat and is left out: that repeat goes on, or the \
             run was killed in it"
        ));
    }
    Ok(run)
}

fn no_run(error: &assay_run_folder::Error) -> Code {
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
    predict::score_beside(folder, &judgement);
    write_report(folder, run, &judgement)?;
    Ok(judgement)
}

/// The page of a run.
pub(crate) const REPORT: &str = "report.html";

/// Writes the report of a judged run, of a search (`tune.json`) with what it came to.
pub(crate) fn write_report(
    folder: &RunFolder,
    run: &Run,
    judgement: &Judgement,
) -> Result<(), assay_run_folder::Error> {
    let search = folder.has("tune.json");
    let written = match search.then(|| folder.read_json("tune.json")).transpose()? {
        Some(found) => assay_report::html_of_tuning(&run.manifest, judgement, &run.samples, &found),
        None => assay_report::html(&run.manifest, judgement, &run.samples),
    };
    match written {
        Ok(html) => folder.write_text(REPORT, &html)?,
        Err(error) => {
            // That of an earlier judgement would be taken for this one's.
            folder.dir().remove_file(REPORT)?;
            output::error(&format!("the report could not be written: {error}"));
        }
    }
    Ok(())
}

/// Shows a judgement: the document for programs, the table for people.
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
    if let Some(score) = predict::scored(folder) {
        output::data(&assay_report::score_text(&score, output::width()));
    }
    output::data(&format!("report: {}", folder.file("report.html").display()));
}
