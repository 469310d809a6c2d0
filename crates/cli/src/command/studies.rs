//! `assay studies`

use assay_session::{Code, Error};
use assay_study::{parse, shipped, shipped_file};
use clap::Args;
use serde_json::json;

use crate::output;

/// Arguments of `assay studies`.
#[derive(Debug, Args)]
pub(crate) struct StudiesArguments {
    /// Print the file of this study
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the shipped studies, or prints the file of one.
pub(crate) fn run(arguments: &StudiesArguments) -> Result<Code, Error> {
    let Some(name) = &arguments.name else {
        return list(arguments.json);
    };
    // A shipped study may bring files of its own, such as a job file.
    let study =
        shipped().iter().find(|study| study.name == name).map(|study| study.text.to_owned());
    let text = study.map_or_else(|| shipped_file(name), Ok).map_err(|_| {
        Error::usage(format!(
            "no shipped study is called `{name}`\n  hint: `assay studies` lists them"
        ))
    })?;
    match arguments.json {
        true => output::json(&json!({ "schema": 1, "name": name, "text": text }))?,
        false => output::data(&text),
    }
    Ok(Code::Kept)
}

fn list(as_json: bool) -> Result<Code, Error> {
    let studies = shipped().iter().map(|study| {
        let read = parse(study.name, study.text, &shipped_file).0;
        let (title, question) = read.map(|study| (study.title, study.question)).unzip();
        json!({ "name": study.name, "title": title, "question": question })
    });
    if as_json {
        output::json(&json!({ "schema": 1, "studies": studies.collect::<Vec<_>>() }))?;
        return Ok(Code::Kept);
    }
    for study in studies {
        let word = |key: &str| study[key].as_str().unwrap_or_default().to_owned();
        output::data(&format!("{:<20} {}", word("name"), word("title")));
    }
    Ok(Code::Kept)
}
