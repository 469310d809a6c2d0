//! Workloads with `use = "command"`: any program, and where its metrics are in its output.

use std::ops::Range;

use assay_diagnostic::{Diagnostic, closest};
use assay_workload::{Metric, PLACEHOLDERS, Source};

use super::texts;
use crate::code;
use crate::key;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::Tool;
use crate::template::identifiers;

pub(super) fn read(reader: &mut Reader<'_>, section: &Section<'_>) -> Tool {
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
        if !super::super::is_table(reader, &at, &format!("the metric `{name}`")) {
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
