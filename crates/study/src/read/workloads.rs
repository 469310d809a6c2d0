//! `[workloads.NAME]`: what runs in the groups. fio has options or an existing job file, a `command` any words and
//! metrics in its output, and a kind of the registry its own `args`.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_sys::closest;
use assay_sys::diagnostic::Diagnostic;
use assay_sys::units::parse_duration;

use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::{After, Scalar, Tool, Workload};
use crate::template::{Templated, identifiers};
use crate::workload::fio::{sections, with_includes};
use crate::workload::{COMMAND, FIO, Metric, NAMES, PLACEHOLDERS, Source};
use crate::{code, key};

pub(crate) fn workloads(reader: &mut Reader<'_>, table: &At<'_>) -> BTreeMap<String, Workload> {
    let mut workloads = BTreeMap::new();
    for (name, at) in super::named_tables(reader, table, "workload", key::WORKLOAD) {
        let what = format!("the workload `{name}`");
        let section = Section::open(reader, at, what.clone(), key::WORKLOAD);
        workloads.insert(name.to_owned(), workload(reader, &section, &what));
    }
    workloads
}

fn workload(reader: &mut Reader<'_>, section: &Section<'_>, what: &str) -> Workload {
    Workload {
        tool: tool(reader, section),
        creates: section.templated(reader, "creates"),
        prepare: section.part(reader, "prepare", texts),
        after: after(section),
        user: section.text("user").map(str::to_owned),
        place: section.get("place").map(|at| super::groups::placement(reader, at, what)),
    }
}

/// The tool of a workload. An unknown word has been reported, and its options are not checked.
fn tool(reader: &mut Reader<'_>, section: &Section<'_>) -> Tool {
    let word = section.word(reader, "use", &NAMES);
    let misplaced = |reader: &mut Reader<'_>, names: &[&str], remedy: &str| {
        for name in names {
            section.misplaced(reader, name, "it belongs to another `use`", remedy);
        }
    };
    match word {
        Some(FIO) => {
            misplaced(
                reader,
                &["command", "metrics", "creates"],
                "remove it, or write `use = \"command\"`",
            );
            fio(reader, section)
        }
        Some(COMMAND) => {
            misplaced(reader, &["args", "jobfile", "section"], "write all arguments in `command`");
            command(reader, section)
        }
        Some(name) => {
            misplaced(
                reader,
                &["command", "metrics", "creates", "jobfile", "section"],
                "remove it, or change `use`",
            );
            kind_of_registry(reader, section, name)
        }
        None => {
            // The options cannot be interpreted, but names in them count as mentioned.
            reader.lost_a_part |= section.has("use");
            Tool::Kind { name: String::new(), args: vec![] }
        }
    }
}

/// A duration such as `30 s`, or the name of a workload.
fn after(section: &Section<'_>) -> Option<After> {
    let text = section.text("after")?;
    match parse_duration(text) {
        Ok(length) => Some(After::Time(length)),
        Err(_) => Some(After::Workload(text.to_owned())),
    }
}

/// One text, or a list of texts; each is recorded as `path[index]`.
fn texts(reader: &mut Reader<'_>, at: &At<'_>) -> Vec<String> {
    let texts = reader.texts(at, "this list", "expected a text in quotes", "put it in quotes");
    if texts.is_empty() && at.value.as_array().is_some_and(|array| array.is_empty()) {
        reader.add(
            Diagnostic::error(code::EMPTY_LIST, "the list is empty")
                .at(at.span.clone(), "expected at least one text")
                .hint("write one, or remove the key"),
        );
    }
    texts.into_iter().map(|(text, _)| text.to_owned()).collect()
}

pub(super) fn command(reader: &mut Reader<'_>, section: &Section<'_>) -> Tool {
    let mut words = vec![];
    if let Some(at) = section.get("command") {
        words = texts(reader, at);
        for (index, word) in words.iter().enumerate() {
            let span = reader.spans.get(&format!("{}[{index}]", at.path)).cloned();
            known_names(reader, word, span.unwrap_or_else(|| at.span.clone()));
        }
    } else if !section.has("command") {
        section.missing(reader, "command", "the program and its arguments");
    }
    Tool::Command { words, metrics: section.part(reader, "metrics", metrics) }
}

/// Checks that names in braces are factors or placeholders. Other braces belong to the program.
fn known_names(reader: &mut Reader<'_>, word: &str, span: Range<usize>) {
    let known =
        |name: &&str| reader.factors.iter().any(|f| f == name) || PLACEHOLDERS.contains(name);
    let unknown: Vec<&str> = identifiers(word).filter(|name| !known(name)).collect();
    for name in unknown {
        let names = reader.factors.iter().map(String::as_str).chain(PLACEHOLDERS.iter().copied());
        let hint = match closest(name, names) {
            Some(meant) => format!("did you mean `{{{meant}}}`?"),
            None => format!(
                "write a factor, or one of {}; a shell variable is written `$NAME`",
                PLACEHOLDERS
                    .iter()
                    .map(|name| format!("`{{{name}}}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        reader.add(
            Diagnostic::error(code::UNDEFINED_FACTOR, format!("unknown factor `{{{name}}}`"))
                .at(span.clone(), "expected the name of a factor in braces")
                .hint(hint),
        );
    }
}

fn metrics(reader: &mut Reader<'_>, table: &At<'_>) -> Vec<Metric> {
    let mut metrics = vec![];
    for (name, _, at) in reader.entries(table) {
        if !super::is_table(reader, &at, &format!("the metric `{name}`")) {
            continue;
        }
        let section = Section::open(reader, at, format!("the metric `{name}`"), key::METRIC);
        metrics.extend(source(reader, &section).map(|from| Metric { name: name.to_owned(), from }));
    }
    metrics
}

fn source(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Source> {
    let (key, from) = match (section.text("pattern"), section.text("json")) {
        (Some(pattern), other) => {
            if other.is_some() {
                let why = "`pattern` already locates the number";
                section.misplaced(reader, "json", why, "remove one of the two");
            }
            ("pattern", Source::Pattern(pattern.to_owned()))
        }
        (None, Some(pointer)) => ("json", Source::Json(pointer.to_owned())),
        (None, None) => {
            if !section.has("pattern") && !section.has("json") {
                section.missing(reader, "pattern", "where the number is, or `json`");
            }
            return None;
        }
    };
    let Some(mistake) = from.mistake() else { return Some(from) };
    if let Some(at) = section.get(key) {
        let expected = match key {
            "pattern" => "expected a regular expression with a group, such as `([0-9.]+) ops/s`",
            _ => "expected a JSON pointer such as `/result/ops`",
        };
        reader.add(
            Diagnostic::error(code::METRIC_SOURCE, format!("{}: {mistake}", section.subject(key)))
                .at(at.span.clone(), expected)
                .hint("the last match is used; the first group in parentheses is the number"),
        );
    }
    None
}

pub(super) fn fio(reader: &mut Reader<'_>, section: &Section<'_>) -> Tool {
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
    Tool::Fio { args: fio_args(reader, section) }
}

fn fio_args(reader: &mut Reader<'_>, section: &Section<'_>) -> Vec<(String, Templated<Scalar>)> {
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
    let text = match with_includes(&path, &|path| (reader.load)(path)) {
        Ok(text) => text,
        Err(reason) => {
            reader.add(
                Diagnostic::error(
                    code::JOB_FILE,
                    format!("the job file `{path}` cannot be used: {reason}"),
                )
                .at(at.span.clone(), "expected a path relative to the study file")
                .hint("correct the job file, or its path beside the study file"),
            );
            return Tool::FioJobFile { path, text: String::new(), section: only };
        }
    };
    let jobs: Vec<String> =
        sections(&text).into_iter().flatten().map(|section| section.job.name).collect();
    if let (Some(name), Some(at)) = (&only, section.get("section"))
        && !jobs.contains(name)
    {
        let message = format!("the job file `{path}` has no section `{name}`");
        let finding = Diagnostic::error(code::JOB_FILE, message);
        let finding = finding.at(at.span.clone(), "expected the name of a section");
        reader.add(finding.hint(format!("write one of: {}", jobs.join(", "))));
    }
    Tool::FioJobFile { path, text, section: only }
}

fn kind_of_registry(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Tool {
    let args = section.part(reader, "args", kind_args);
    Tool::Kind { name: name.to_owned(), args }
}

fn kind_args(reader: &mut Reader<'_>, table: &At<'_>) -> Vec<(String, Vec<Templated<Scalar>>)> {
    let mut args = vec![];
    for (name, key_span, at) in reader.entries(table) {
        reader.spans.insert(format!("{}#key", at.path), key_span);
        let what = format!("the option `{name}`");
        let elements = reader.one_or_more(&at);
        let values = with_placeholders(reader, |reader| {
            elements.iter().map(|element| reader.templated(element, &what)).collect()
        });
        if let Some(values) = values {
            args.push((name.to_owned(), values));
        }
    }
    args
}

/// Reads with the placeholders of the run in addition to the factors. A factor of the same name
/// hides a placeholder.
fn with_placeholders<'l, T>(reader: &mut Reader<'l>, read: impl FnOnce(&mut Reader<'l>) -> T) -> T {
    let factors = reader.factors.len();
    reader.factors.extend(PLACEHOLDERS.iter().map(|name| (*name).to_owned()));
    let read = read(reader);
    reader.factors.truncate(factors);
    read
}
