//! `assay run --list founding`: what the founding documents state, and what the newest runs here say of it.

use std::path::Path;

use assay_judge::verdict::Judgement;
use assay_record::run_folder::{RunFolder, summaries};
use assay_report::claims::{CLAIMS, Claim, Found};
use assay_sys::escape::page::{Page, Parts};
use assay_sys::exit::{Code, Error};
use assay_sys::files::Dir;
use serde::Serialize;

use crate::output;

/// The document of `assay run --list founding -o json`.
#[derive(Debug, Serialize)]
struct Founding {
    /// Version of this format.
    schema: u32,
    /// The statements, in the order of the documents.
    claims: Vec<Repeated>,
}

/// A statement of a founding document, and what the newest run that repeats it says.
#[derive(Debug, Serialize)]
struct Repeated {
    /// The document, or its section.
    document: &'static str,
    /// What it states.
    says: &'static str,
    /// Its figure, as published.
    published: &'static str,
    /// The shipped study that repeats it.
    study: &'static str,
    /// `reproduced`, `not reproduced`, `undecided`, `void here` or `not run`.
    result: &'static str,
    /// Our figure, if there is one.
    ours: Option<String>,
    /// When the run began, RFC 3339, UTC.
    at: Option<String>,
}

/// Shows the statements with the newest runs in `runs/`.
pub(super) fn run(as_json: bool) -> Result<Code, Error> {
    let runs = judged_runs(Path::new("runs"));
    let claims: Vec<Repeated> = CLAIMS.iter().map(|claim| repeated(claim, &runs)).collect();
    if as_json {
        output::json(&Founding { schema: 1, claims })?;
        return Ok(Code::Kept);
    }
    let head = Parts::of(|page| {
        for of_document in claims.chunk_by(|a, b| a.document == b.document) {
            page.styled("says", of_document[0].document);
            page.list(of_document.iter().map(|one| {
                let ours = one.ours.as_ref().map_or_else(String::new, |ours| format!(", {ours}"));
                format!("{} ({}): {}{ours}", one.says, one.published, one.result)
            }));
        }
    });
    let heading = "What the founding documents state, and the newest runs in runs/".to_owned();
    let page = Page { heading, head, ..Page::default() };
    output::data_painted(|color| page.text(output::width(), color));
    Ok(Code::Kept)
}

/// A run of a study that has claims, with its time.
struct JudgedRun {
    study: String,
    at: String,
    judgement: Judgement,
}

/// The runs that can be read, newest first.
fn judged_runs(folder: &Path) -> Vec<JudgedRun> {
    let Ok(folder) = Dir::open(folder) else { return Vec::new() };
    let Ok(all) = summaries(&folder) else { return Vec::new() };
    let of_claims = all.filter(|(_, run)| CLAIMS.iter().any(|claim| claim.study == run.study));
    let mut runs: Vec<JudgedRun> = of_claims
        .filter_map(|(dir, run)| {
            let judgement = RunFolder::from_dir(dir).ok()?.read_json("verdict.json").ok()?;
            Some(JudgedRun { study: run.study, at: run.started_at, judgement })
        })
        .collect();
    runs.sort_by(|a, b| b.at.cmp(&a.at));
    runs
}

fn repeated(claim: &Claim, runs: &[JudgedRun]) -> Repeated {
    let of_study = runs.iter().filter(|run| run.study == claim.study);
    let newest = of_study.filter_map(|run| Some((run, claim.found(&run.judgement)?))).next();
    let (at, Found { result, ours }) = match newest {
        None => (None, Found { result: "not run", ours: None }),
        Some((run, found)) => (Some(run.at.clone()), found),
    };
    let &Claim { document, says, published, study, .. } = claim;
    Repeated { document, says, published, study, result, ours, at }
}

#[cfg(test)]
mod tests;
