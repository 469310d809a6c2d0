//! Parses the text of a study file: reads its parts from the tables, types, words and plain values, and has them
//! checked.
//!
//! A part with a mistake is read as far as possible, with a default in place of the wrong value, so
//! that later checks see the rest of it.

mod design;
mod disks;
mod groups;
mod names;
mod overlay;
mod promises;
mod size;
mod workloads;

pub(crate) use design::mistake_in_levels;
pub use size::MOST_BYTES;

use std::collections::BTreeSet;
use std::ops::Range;

use assay_sys::diagnostic::{Diagnostic, Severity};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::key::{self, Key};
use crate::reader::{At, Load, Mentions, Reader, Spans};
use crate::section::{Section, texts};
use crate::syntax::Study;
use crate::value::kind;
use crate::{check, code};

/// Parses a study file. All mistakes are found in one pass and are in the order of the file; there
/// is a study only if none of them is an error.
///
/// `name` is the name or path by which the study was found. `load` reads a file by its path
/// relative to the study file; its error is the reason why it cannot.
pub fn parse(
    name: &str,
    text: &str,
    load: &dyn Fn(&str) -> Result<String, String>,
) -> (Option<Study>, Vec<Diagnostic>) {
    let parsed = DeTable::parse_recoverable(text);
    let has_published = has_overlay(&parsed.0);
    let (study, mut findings) = parse_table(name, text, load, parsed);
    if !has_published {
        return (study, findings);
    }
    let (published, more) = parse_published(name, text, load);
    if published.is_none() {
        // What is wrong with the document's sizes is a mistake of the file, whichever are asked for.
        findings.extend(more.into_iter().filter(|one| !findings.contains(one)).collect::<Vec<_>>());
        return (None, findings);
    }
    (study, findings)
}

/// Parses a study file with the keys of its `[published]` in place of its own; without such a table, as
/// it is.
pub fn parse_published(
    name: &str,
    text: &str,
    load: &dyn Fn(&str) -> Result<String, String>,
) -> (Option<Study>, Vec<Diagnostic>) {
    let (mut table, syntax_errors) = DeTable::parse_recoverable(text);
    overlay::apply(table.get_mut());
    parse_table(name, text, load, (table, syntax_errors))
}

/// Whether the text of a study has sizes of a document.
#[must_use]
pub fn has_published(text: &str) -> bool {
    has_overlay(&DeTable::parse_recoverable(text).0)
}

fn has_overlay(table: &Spanned<DeTable<'_>>) -> bool {
    table.get_ref().contains_key(overlay::PUBLISHED)
}

fn parse_table<'t>(
    name: &str,
    text: &'t str,
    load: &dyn Fn(&str) -> Result<String, String>,
    (table, syntax_errors): (Spanned<DeTable<'t>>, Vec<toml::de::Error>),
) -> (Option<Study>, Vec<Diagnostic>) {
    let root = DeValue::Table(table.into_inner());
    if let Some(finding) = size::too_large(&root) {
        return (None, vec![finding]);
    }
    let mut reader = new_reader(load);
    let (study, mentions) = study(&mut reader, name, &root);
    let mut findings = std::mem::take(&mut reader.findings);
    findings.extend(check::study(&study, &reader.spans));
    findings.extend(check::unused(&study, &mentions, &reader.spans));
    if reader.lost_a_part || !syntax_errors.is_empty() {
        findings.retain(|finding| !claims_absence(finding));
    }
    hold_back_guesses(&mut findings, text, &syntax_errors);
    findings.extend(syntax_errors.iter().map(|error| syntax_error(error, text)));
    findings.sort_by_key(|finding| finding.labels.first().map_or(usize::MAX, |at| at.span.start));
    size::shorten(&mut findings);
    let sound = findings.iter().all(|finding| finding.severity != Severity::Error);
    (sound.then_some(study), findings)
}

fn new_reader(load: Load<'_>) -> Reader<'_> {
    Reader { findings: vec![], spans: Spans::new(), factors: vec![], lost_a_part: false, load }
}

/// Drops findings that other mistakes may have caused. On a line with wrong syntax the parser
/// guesses values. If a key or its type is wrong, its value was not read, and a warning that it is
/// missing would mislead.
fn hold_back_guesses(
    findings: &mut Vec<Diagnostic>,
    text: &str,
    syntax_errors: &[toml::de::Error],
) {
    let ends: Vec<usize> = text.match_indices('\n').map(|(end, _)| end).collect();
    let line_of = |offset: usize| ends.partition_point(|end| *end < offset);
    let spans = syntax_errors.iter().filter_map(toml::de::Error::span);
    let broken: BTreeSet<usize> = spans.map(|span| line_of(span.start)).collect();
    findings.retain(|finding| {
        let line = finding.labels.first().map(|label| line_of(label.span.start));
        line.is_none_or(|line| !broken.contains(&line))
    });
    let misread =
        |finding: &Diagnostic| finding.code.starts_with("A02") || finding.code == code::EMPTY_LIST;
    if findings.iter().any(misread) {
        findings.retain(|finding| finding.severity == Severity::Error || !claims_absence(finding));
    }
}

fn claims_absence(finding: &Diagnostic) -> bool {
    code::CLAIM_ABSENCE.contains(&finding.code)
}

fn syntax_error(error: &toml::de::Error, text: &str) -> Diagnostic {
    let message = error.message().replace('\n', "; ");
    let Some(span) = error.span() else {
        return Diagnostic::error(code::SYNTAX, message).hint("nest the tables less deeply");
    };
    // The parser reports any bare word as an invalid boolean or as a text without quotes.
    let bare = message.contains("invalid boolean") || message.contains("must be quoted");
    if value_is_absent(text, span.start) {
        Diagnostic::error(code::SYNTAX, "a key has no value")
            .at(span, "expected a value")
            .hint("write a value after the `=`")
    } else if message.contains("duplicate key") {
        Diagnostic::error(code::DUPLICATE_KEY, message)
            .at(span, "expected each key once")
            .hint("remove one of the two, or rename it")
    } else if let (true, Some(word)) = (bare, text.get(span.clone())) {
        let word = word.trim();
        Diagnostic::error(code::SYNTAX, format!("the text `{word}` is not quoted"))
            .at(span, "expected a number, a list, or a text in quotes")
            .hint(format!("write `\"{word}\"`"))
    } else {
        Diagnostic::error(code::SYNTAX, message)
            .at(span, "expected TOML")
            .hint("correct the TOML here: put texts in double quotes and lists in [ ]")
    }
}

/// Whether the line ends after its `=`. The parser reports this as a text without quotes, which
/// would mislead.
fn value_is_absent(text: &str, offset: usize) -> bool {
    let (Some(before), Some(after)) = (text.get(..offset), text.get(offset..)) else {
        return false;
    };
    let rest = after.lines().next().unwrap_or_default().trim();
    before.trim_end_matches([' ', '\t']).ends_with('=')
        && (rest.is_empty() || rest.starts_with('#'))
}

/// Reads the whole file.
fn study(reader: &mut Reader<'_>, name: &str, root: &DeValue<'_>) -> (Study, Mentions) {
    let at = At { value: root, span: 0..0, path: String::new() };
    reader.spans.insert(String::new(), 0..0);
    let section = Section::open(reader, at, "the study".to_owned(), key::STUDY);
    let factors = section.part(reader, "factors", design::factors);
    reader.factors = factors.iter().map(|factor| factor.name.clone()).collect();
    let study = Study {
        name: name.to_owned(),
        title: section.text("title").unwrap_or_default().to_owned(),
        question: section.text("question").map(str::to_owned),
        factors,
        design: design::design(reader, section.get("design")),
        settings: design::settings(reader, &section),
        sampling: design::sampling(reader, section.get("sampling")),
        disks: section.part(reader, "disks", disks::read),
        groups: section.part(reader, "groups", groups::groups),
        workloads: section.part(reader, "workloads", workloads::workloads),
        promises: section.part(reader, "promises", promises::promises),
        references: section.part(reader, "references", promises::references),
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
            "factors" | "published" | "title" | "question" => {}
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

/// The tables of a list of tables; other elements are reported.
fn tables<'d>(reader: &mut Reader<'_>, list: &At<'d>) -> Vec<At<'d>> {
    let what = format!("an element of `{}`", list.path.rsplit('.').next().unwrap_or_default());
    let mut elements = reader.elements(list);
    elements.retain(|at| is_table(reader, at, &what));
    elements
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
