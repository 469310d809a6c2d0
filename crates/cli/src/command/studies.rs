//! `assay studies`

use assay_session::{Code, Error};
use assay_study::{parse, shipped, shipped_file};
use clap::Args;

use crate::output;

/// Arguments of `assay studies`.
#[derive(Debug, Args)]
pub(crate) struct StudiesArguments {
    /// Print the file of this study
    name: Option<String>,
}

/// Lists the shipped studies, or prints the file of one.
pub(crate) fn run(arguments: &StudiesArguments) -> Result<Code, Error> {
    let Some(name) = &arguments.name else {
        for study in shipped() {
            let title = parse(study.name, study.text, &shipped_file).0.map(|study| study.title);
            output::data(&format!("{:<20} {}", study.name, title.unwrap_or_default()));
        }
        return Ok(Code::Kept);
    };
    // A shipped study may bring files of its own, such as a job file.
    let study =
        shipped().iter().find(|study| study.name == name).map(|study| study.text.to_owned());
    let text = study.map_or_else(|| shipped_file(name), Ok).map_err(|_| {
        Error::usage(format!(
            "no shipped study is called `{name}`\n  hint: `assay studies` lists them"
        ))
    })?;
    output::data(&text);
    Ok(Code::Kept)
}
