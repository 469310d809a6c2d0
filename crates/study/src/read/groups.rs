//! `[[groups]]`: the control groups that share the machine, and `place` of groups and workloads.

use std::ops::Range;

use assay_sys::diagnostic::Diagnostic;

use super::names;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::{Existing, Group, Placement, Scalar};
use crate::template::Templated;
use crate::value::scalar;
use crate::{code, key};

pub(crate) fn groups(reader: &mut Reader<'_>, list: &At<'_>) -> Vec<Group> {
    nested(reader, list, None)
}

fn nested(reader: &mut Reader<'_>, list: &At<'_>, disk: Option<&str>) -> Vec<Group> {
    let tables = super::tables(reader, list);
    tables.into_iter().map(|at| group(reader, at, disk)).collect()
}

fn group(reader: &mut Reader<'_>, at: At<'_>, outer_disk: Option<&str>) -> Group {
    let named = at.value.as_table().and_then(|table| table.get("name"));
    let what = match named.and_then(|name| name.get_ref().as_str()) {
        Some(name) => format!("the group `{name}`"),
        None => "a group".to_owned(),
    };
    let owner = what.clone();
    let section = Section::open(reader, at, what, &key::GROUP);
    if let (Some(at), Some(name)) = (section.get("name"), section.text("name")) {
        names::group(reader, name, at.span.clone());
    }
    let disk = section.text("disk").or(outer_disk);
    Group {
        name: section.text("name").unwrap_or_default().to_owned(),
        existing: existing(reader, &section),
        count: section.templated(reader, "count").unwrap_or(Templated::Value(1)),
        knobs: section.part(reader, "knobs", knobs),
        run: section.part(reader, "run", run),
        disk: disk.map(str::to_owned),
        measured: section.boolean("measured").unwrap_or(true),
        outside: section.templated(reader, "outside").unwrap_or(Templated::Value(false)),
        place: section.get("place").map(|at| placement(reader, at, &owner)),
        groups: section.part(reader, "groups", |reader, at| nested(reader, at, disk)),
    }
}

/// A group that exists has its own settings and processes, which a study leaves alone.
fn existing(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Existing> {
    let named = section.text("existing")?;
    for key in ["count", "knobs", "run", "outside", "place", "groups"] {
        let why = "a group that exists is only read";
        section.misplaced(reader, key, why, "remove it, or remove `existing` to make a group");
    }
    let found = Existing::parse(named);
    if found.is_none() {
        let message = format!("`existing = \"{named}\"` names no group");
        let (expected, remedy) = (Existing::FORMS, format!("write {}", Existing::FORMS));
        section.out_of_range(reader, "existing", message, expected, &remedy);
    }
    found
}

fn knobs(reader: &mut Reader<'_>, table: &At<'_>) -> Vec<(String, Vec<Templated<Scalar>>)> {
    let mut knobs: Vec<(String, Vec<Templated<Scalar>>)> = vec![];
    for (name, key_span, at) in reader.entries(table) {
        if let (true, Some(knob)) = (at.value.is_table(), assay_host::knob::find(name)) {
            let mistake = table_of_values(reader, knob, &at);
            reader.add(mistake);
        } else if at.value.is_table() {
            knobs.extend(unquoted(reader, name, key_span, &at));
        } else if assay_host::knob::find(name).is_some() {
            knobs.push((name.to_owned(), knob_values(reader, name, &at)));
        } else {
            // The values are checked as those of the knob that was probably meant.
            reader.add(unknown_knob(name, key_span));
            let meant = assay_host::knob::suggest(name);
            let values = knob_values(reader, name, &at);
            knobs.extend(meant.map(|meant| (meant.to_owned(), values)));
        }
    }
    knobs
}

/// `io.weight = 100` without quotes is a table `io` to TOML.
fn unquoted(
    reader: &mut Reader<'_>,
    family: &str,
    key_span: Range<usize>,
    table: &At<'_>,
) -> Vec<(String, Vec<Templated<Scalar>>)> {
    let mistake = Diagnostic::error(code::UNKNOWN_KNOB, format!("unknown knob `{family}`"))
        .at(key_span, "expected the whole name of an interface file in quotes");
    let mut named = reader.unquoted(table, mistake, family);
    named.retain(|(name, _)| assay_host::knob::find(name).is_some());
    named
        .into_iter()
        .map(|(name, at)| {
            let values = knob_values(reader, &name, &at);
            (name, values)
        })
        .collect()
}

/// `"io.max" = { rbps = "1M" }`: the name is right, and the value has to be the text of the file.
fn table_of_values(
    reader: &mut Reader<'_>,
    knob: &assay_host::knob::Knob,
    table: &At<'_>,
) -> Diagnostic {
    let name = knob.name;
    let parts: Vec<String> = reader
        .entries(table)
        .iter()
        .filter_map(|(key, _, at)| Some(format!("{key}={}", scalar(at.value)?)))
        .collect();
    let text = parts.join(" ");
    let hint = match knob.check(&text) {
        Ok(()) => format!("write `\"{name}\" = \"{text}\"`, as in the file"),
        Err(_) => format!("write {}", knob.range),
    };
    Diagnostic::error(
        code::WRONG_TYPE,
        format!("the knob `{name}` is a table, expected a single value"),
    )
    .at(table.span.clone(), "expected the text of the interface file")
    .hint(hint)
}

/// Reports an unknown knob.
pub(crate) fn unknown_knob(name: &str, span: Range<usize>) -> Diagnostic {
    let hint = match assay_host::knob::suggest(name) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => knobs_like(name),
    };
    Diagnostic::error(code::UNKNOWN_KNOB, format!("unknown knob `{name}`"))
        .at(span, "expected the cgroup v2 name of an interface file")
        .hint(hint)
}

/// A list of the knobs of the same family, or where all knobs are listed.
fn knobs_like(name: &str) -> String {
    let family = name.split('.').next().unwrap_or(name);
    let related: Vec<&str> = assay_host::knob::all()
        .iter()
        .filter(|knob| knob.is_for_groups() && knob.name.split('.').next() == Some(family))
        .map(|knob| knob.name)
        .collect();
    if related.is_empty() {
        return "docs/reference/knobs.md lists all knobs".to_owned();
    }
    format!("the knobs of `{family}` are {}", crate::reader::quoted(&related))
}

/// A knob has one value for all members, or a list of values for the members in turn.
fn knob_values(reader: &mut Reader<'_>, name: &str, at: &At<'_>) -> Vec<Templated<Scalar>> {
    let what = format!("the knob `{name}`");
    let elements = reader.one_or_more(at);
    if elements.is_empty() {
        reader.add(empty_list(&what, at));
    }
    // A value that cannot be read keeps its index, so that the following ones keep theirs.
    elements
        .iter()
        .map(|element| reader.templated(element, &what))
        .collect::<Option<_>>()
        .unwrap_or_default()
}

fn run(reader: &mut Reader<'_>, at: &At<'_>) -> Vec<String> {
    if at.value.as_array().is_some_and(|array| array.is_empty()) {
        reader.add(empty_list("`run`", at));
    }
    let expected = "expected the name of a workload";
    let remedy = "write the name of a table of [workloads] in quotes";
    let mut names: Vec<String> = vec![];
    for (name, element) in reader.texts(at, "`run`", expected, remedy) {
        if names.iter().any(|other| other == name) {
            reader.add(started_twice(name, &element));
        } else if reader.template_is_sound(name, &element) {
            names.push(name.to_owned());
        }
    }
    names
}

fn started_twice(name: &str, at: &At<'_>) -> Diagnostic {
    Diagnostic::error(code::REPEATED_VALUE, format!("`run` names the workload `{name}` twice"))
        .at(at.span.clone(), "expected each workload once")
        .hint("remove it; `numjobs` in the workload's `args` starts several jobs")
}

fn empty_list(what: &str, at: &At<'_>) -> Diagnostic {
    Diagnostic::error(code::EMPTY_LIST, format!("{what} has an empty list"))
        .at(at.span.clone(), "expected at least one value")
        .hint("write a value, or remove the key")
}

/// Reads a placement; `what` names its owner in messages.
pub(crate) fn placement(reader: &mut Reader<'_>, at: &At<'_>, what: &str) -> Placement {
    let section = Section::open(reader, at.clone(), format!("`place` of {what}"), key::PLACE);
    Placement {
        cpus: section.templated(reader, "cpus"),
        memory: section.templated(reader, "memory"),
        huge_pages: section.templated(reader, "huge_pages"),
    }
}
