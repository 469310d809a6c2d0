//! `assay studies`

use assay_study::{parse, shipped, shipped_file};

use crate::args::StudiesArguments;
use crate::exit::Code;
use crate::output;

/// Lists the shipped studies, or prints the file of one.
pub(crate) fn run(arguments: &StudiesArguments) -> Code {
    let Some(name) = &arguments.name else {
        for study in shipped() {
            let title = parse(study.name, study.text, &shipped_file).0.map(|study| study.title);
            output::data(&format!("{:<20} {}", study.name, title.unwrap_or_default()));
        }
        return Code::Kept;
    };
    if let Some(study) = shipped().iter().find(|study| study.name == name) {
        output::data(study.text);
        return Code::Kept;
    }
    // A shipped study may bring files of its own, such as a job file.
    if let Ok(text) = shipped_file(name) {
        output::data(&text);
        return Code::Kept;
    }
    output::error(&format!(
        "no shipped study is called `{name}`\n  hint: `assay studies` lists them"
    ));
    Code::Usage
}
