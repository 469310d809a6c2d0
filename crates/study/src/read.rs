//! Reads the parts of a study from the tables of the file: types, words and plain values.
//!
//! A part with a mistake is read as far as possible, with a default in place of the wrong value, so
//! that later checks see the rest of it.

mod cross_trial;
mod design;
mod disks;
mod factors;
mod groups;
mod names;
mod placement;
mod promises;
mod references;
mod sampling;
mod settings;
mod workloads;

pub(crate) use factors::mistake_in_levels;

use std::ops::Range;

use assay_diagnostic::Diagnostic;
use toml::de::DeValue;

use crate::code;
use crate::key::{self, Key};
use crate::reader::{At, Reader};
use crate::section::{Section, texts};
use crate::syntax::Study;
use crate::value::kind;

/// Names of workloads, disks and factors that the file mentions where they could be used, even if
/// the mention itself is part of a mistake.
#[derive(Default)]
pub(crate) struct Mentions {
    /// Texts anywhere in the groups, and in `prepare` of workloads.
    pub(crate) by_groups: Vec<String>,
    /// Texts anywhere outside the factors.
    pub(crate) outside_factors: Vec<String>,
}

/// Reads the whole file.
pub(crate) fn study(reader: &mut Reader<'_>, name: &str, root: &DeValue<'_>) -> (Study, Mentions) {
    let at = At { value: root, span: 0..0, path: String::new() };
    reader.spans.insert(String::new(), 0..0);
    let section = Section::open(reader, at, "the study".to_owned(), key::STUDY);
    let factors = section.part(reader, "factors", factors::read);
    reader.factors = factors.iter().map(|factor| factor.name.clone()).collect();
    let study = Study {
        name: name.to_owned(),
        title: section.text("title").unwrap_or_default().to_owned(),
        question: section.text("question").map(str::to_owned),
        factors,
        design: design::read(reader, section.get("design")),
        settings: settings::read(reader, &section),
        sampling: sampling::read(reader, section.get("sampling")),
        disks: section.part(reader, "disks", disks::read),
        groups: section.part(reader, "groups", groups::read),
        workloads: section.part(reader, "workloads", workloads::read),
        promises: section.part(reader, "promises", promises::read),
        references: section.part(reader, "references", references::read),
        folder: None,
    };
    (study, mentions(root))
}

fn mentions(root: &DeValue<'_>) -> Mentions {
    let mut mentions = Mentions::default();
    let Some(table) = root.as_table() else { return mentions };
    for (key, value) in table {
        let mut found = vec![];
        texts(value.get_ref(), &mut found);
        let found = found.into_iter().map(str::to_owned);
        match key.get_ref().as_ref() {
            "factors" | "title" | "question" => {}
            "groups" => {
                mentions.by_groups.extend(found);
                mentions.outside_factors.extend_from_slice(&mentions.by_groups);
            }
            "workloads" => {
                mentions.by_groups.extend(prepared(value.get_ref()));
                mentions.outside_factors.extend(found);
            }
            _ => mentions.outside_factors.extend(found),
        }
    }
    mentions
}

/// Names under `prepare` of the workloads: preparations run in the same groups.
fn prepared(workloads: &DeValue<'_>) -> Vec<String> {
    let mut found = vec![];
    let tables = workloads.as_table().into_iter().flat_map(|table| table.values());
    for table in tables.filter_map(|workload| workload.get_ref().as_table()) {
        if let Some(named) = table.get("prepare") {
            texts(named.get_ref(), &mut found);
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// The tables of `[disks]` or `[workloads]` by name. Keys that belong one level deeper mean that
/// the name is missing; this is reported once and not for each key.
fn named_tables<'d>(
    reader: &mut Reader<'_>,
    table: &At<'d>,
    what: &str,
    keys: &[Key],
) -> Vec<(&'d str, At<'d>)> {
    let entries = reader.entries(table);
    let belongs_deeper = |(name, _, at): &(&str, Range<usize>, At<'_>)| {
        !at.value.is_table() && keys.iter().any(|key| key.name == *name)
    };
    if entries.iter().any(belongs_deeper) {
        reader.lost_a_part = true;
        reader.add(
            Diagnostic::error(code::WRONG_TYPE, format!("the {what} of this table has no name"))
                .at(table.span.clone(), "expected a name after a dot")
                .hint(format!("write `[{}.NAME]`", table.path)),
        );
        return vec![];
    }
    let mut tables = vec![];
    for (name, key_span, at) in entries {
        names::part(reader, what, name, key_span);
        if is_table(reader, &at, &format!("the {what} `{name}`")) {
            tables.push((name, at));
        }
    }
    tables
}

/// Reports a value that is not a table and returns whether it is one.
fn is_table(reader: &mut Reader<'_>, at: &At<'_>, what: &str) -> bool {
    if !at.value.is_table() {
        reader.lost_a_part = true;
        let hint = if at.value.is_array() {
            format!("write `[{}]`, with one bracket on each side", at.path)
        } else {
            "write a table with keys and values".to_owned()
        };
        reader.add(
            Diagnostic::error(code::WRONG_TYPE, format!("{what} is {}", kind(at.value)))
                .at(at.span.clone(), "expected a table")
                .hint(hint),
        );
    }
    at.value.is_table()
}
