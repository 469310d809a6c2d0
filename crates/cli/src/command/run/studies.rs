//! `assay run --list`: the shipped studies, or the file of one.

use assay_study::{parse, shipped, shipped_file};
use assay_sys::exit::{Code, Error};
use serde::Serialize;

use crate::output;

/// The document of `assay run --list -o json`.
#[derive(Debug, Serialize)]
struct Studies {
    /// Version of this format.
    schema: u32,
    /// The shipped studies.
    studies: Vec<Listed>,
}

/// A shipped study in the list.
#[derive(Debug, Serialize)]
struct Listed {
    /// The name that `assay run` takes.
    name: &'static str,
    /// One line for lists.
    title: Option<String>,
    /// The question that it answers.
    question: Option<String>,
}

/// The document of `assay run --list STUDY -o json`.
#[derive(Debug, Serialize)]
struct StudyText<'a> {
    /// Version of this format.
    schema: u32,
    /// The name that `assay run` takes.
    name: &'a str,
    /// Its file, as TOML.
    text: String,
}

/// Lists the shipped studies, or prints the file of one.
pub(super) fn run(name: &str, as_json: bool) -> Result<Code, Error> {
    match name {
        "" => return list(as_json),
        "founding" => return super::founding::run(as_json),
        _ => {}
    }
    // A shipped study may bring files of its own, such as a job file.
    let study =
        shipped().iter().find(|study| study.name == name).map(|study| study.text.to_owned());
    let text = study.map_or_else(|| shipped_file(name), Ok).map_err(|_| {
        Error::usage(format!(
            "no shipped study is called `{name}`\n  hint: `assay run --list` shows them"
        ))
    })?;
    match as_json {
        true => output::json(&StudyText { schema: 1, name, text })?,
        false => output::data(&text),
    }
    Ok(Code::Kept)
}

fn list(as_json: bool) -> Result<Code, Error> {
    let studies = shipped().iter().map(|study| {
        let read = parse(study.name, study.text, &shipped_file).0;
        let (title, question) = read.map(|study| (study.title, study.question)).unzip();
        Listed { name: study.name, title, question: question.flatten() }
    });
    if as_json {
        output::json(&Studies { schema: 1, studies: studies.collect() })?;
        return Ok(Code::Kept);
    }
    for study in studies {
        output::data(&format!("{:<20} {}", study.name, study.title.unwrap_or_default()));
    }
    Ok(Code::Kept)
}
