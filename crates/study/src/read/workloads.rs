//! `[workloads.NAME]`: what runs in the groups.

mod command;
mod fio;
mod kind;

use std::collections::BTreeMap;

use assay_diagnostic::Diagnostic;
use assay_units::parse_duration;
use assay_workload::{COMMAND, FIO, NAMES};

use crate::code;
use crate::key;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::{After, Tool, Workload};

pub(crate) fn read(reader: &mut Reader<'_>, table: &At<'_>) -> BTreeMap<String, Workload> {
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
        place: section.get("place").map(|at| super::placement::read(reader, at, what)),
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
            fio::read(reader, section)
        }
        Some(COMMAND) => {
            misplaced(reader, &["args", "jobfile", "section"], "write all arguments in `command`");
            command::read(reader, section)
        }
        Some(name) => {
            misplaced(
                reader,
                &["command", "metrics", "creates", "jobfile", "section"],
                "remove it, or change `use`",
            );
            kind::read(reader, section, name)
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
