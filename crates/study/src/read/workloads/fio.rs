//! Workloads with `use = "fio"`: options, or an existing job file.

use assay_diagnostic::Diagnostic;

use crate::code;
use crate::reader::Reader;
use crate::section::Section;
use crate::syntax::{Scalar, Tool};
use crate::template::Templated;

pub(super) fn read(reader: &mut Reader<'_>, section: &Section<'_>) -> Tool {
    if section.has("jobfile") {
        section.misplaced(
            reader,
            "args",
            "a job file has its own options",
            "write the options in the job file, or remove `jobfile`",
        );
        return job_file(reader, section);
    }
    section.misplaced(
        reader,
        "section",
        "only a job file has sections",
        "name a `jobfile`, or remove `section`",
    );
    Tool::Fio { args: args(reader, section) }
}

fn args(reader: &mut Reader<'_>, section: &Section<'_>) -> Vec<(String, Templated<Scalar>)> {
    let Some(table) = section.get("args") else {
        if !section.has("args") {
            section.missing(reader, "args", "the options of fio, or `jobfile` instead");
        }
        return vec![];
    };
    let mut args = vec![];
    for (name, key_span, at) in reader.entries(table) {
        reader.spans.insert(format!("{}#key", at.path), key_span);
        if let Some(value) = reader.templated(&at, &format!("the option `{name}`")) {
            args.push((name.to_owned(), value));
        }
    }
    args
}

fn job_file(reader: &mut Reader<'_>, section: &Section<'_>) -> Tool {
    let path = section.text("jobfile").unwrap_or_default().to_owned();
    let only = section.text("section").map(str::to_owned);
    let Some(at) = section.get("jobfile") else {
        return Tool::FioJobFile { path, text: String::new(), section: only };
    };
    let text = match (reader.load)(&path) {
        Ok(text) => text,
        Err(reason) => {
            reader.add(
                Diagnostic::error(
                    code::JOB_FILE,
                    format!("the job file `{path}` cannot be read: {reason}"),
                )
                .at(at.span.clone(), "expected a path relative to the study file")
                .hint("correct the path, or put the job file beside the study file"),
            );
            return Tool::FioJobFile { path, text: String::new(), section: only };
        }
    };
    let jobs: Vec<&str> = job_sections(&text).collect();
    if jobs.is_empty() {
        reader.add(
            Diagnostic::error(code::JOB_FILE, format!("the job file `{path}` has no job"))
                .at(at.span.clone(), "expected a file with a section such as `[task1]`")
                .hint("add a section beside [global]; each section is one job"),
        );
    } else if let (Some(name), Some(at)) = (&only, section.get("section"))
        && !jobs.contains(&name.as_str())
    {
        let message = format!("the job file `{path}` has no section `{name}`");
        let finding = Diagnostic::error(code::JOB_FILE, message);
        let finding = finding.at(at.span.clone(), "expected the name of a section");
        reader.add(finding.hint(format!("write one of: {}", jobs.join(", "))));
    }
    Tool::FioJobFile { path, text, section: only }
}

/// The jobs of a job file: the names of its sections except [global].
fn job_sections(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| line.trim().strip_prefix('[')?.split_once(']'))
        .map(|(name, _)| name.trim())
        .filter(|name| *name != "global")
}
