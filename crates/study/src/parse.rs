//! Parses the text of a study file.

use assay_diagnostic::{Diagnostic, Severity, closest};
use toml::de::{DeTable, DeValue};

use crate::check;
use crate::code;
use crate::combination;
use crate::read::{self, Mentions};
use crate::reader::{Load, Reader, Spans};
use crate::syntax::Study;
use crate::template::{factor_names, substitute};

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
    let (table, syntax_errors) = DeTable::parse_recoverable(text);
    let root = DeValue::Table(table.into_inner());
    let mut reader = new_reader(load);
    let (study, mentions) = read::study(&mut reader, name, &root);
    let mut findings = std::mem::take(&mut reader.findings);
    findings.extend(check::study(&study, &reader.spans));
    findings.extend(unused(&study, &mentions, &reader.spans));
    if reader.lost_a_part || !syntax_errors.is_empty() {
        findings.retain(|finding| !claims_absence(finding));
    }
    hold_back_guesses(&mut findings, text, &syntax_errors);
    findings.extend(syntax_errors.iter().map(|error| syntax_error(error, text)));
    findings.sort_by_key(|finding| finding.labels.first().map_or(usize::MAX, |at| at.span.start));
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
    let spans = syntax_errors.iter().filter_map(toml::de::Error::span);
    let broken: Vec<usize> = spans.map(|span| line_of(text, span.start)).collect();
    findings.retain(|finding| {
        let line = finding.labels.first().map(|label| line_of(text, label.span.start));
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

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
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

/// Reports definitions that are never used. Misspelt mentions and those that are part of another
/// mistake count, so that one slip gives one mistake.
fn unused(study: &Study, mentions: &Mentions, spans: &Spans) -> Vec<Diagnostic> {
    let mut findings = unused_factors(study, mentions);
    let by_groups = by_groups(study, mentions);
    findings.extend(unused_parts(study.workloads.keys(), &by_groups, "workloads", |name| {
        Diagnostic::warning(code::UNUSED_WORKLOAD, format!("no group runs `{name}`"))
            .hint(format!("add `run = \"{name}\"` to a group, or remove the workload"))
    }));
    // A single disk is used without being named.
    if study.disks.len() > 1 {
        findings.extend(unused_parts(study.disks.keys(), &by_groups, "disks", |name| {
            Diagnostic::warning(code::UNUSED_DISK, format!("no group uses the disk `{name}`"))
                .hint(format!("add `disk = \"{name}\"` to a group, or remove the disk"))
        }));
    }
    let placed = findings.into_iter().map(|(path, finding)| match spans.get(&path) {
        Some(span) => finding.at(span.clone(), "expected to be used somewhere"),
        None => finding,
    });
    placed.collect()
}

/// Names that groups mention, with factors replaced by each of their values.
fn by_groups(study: &Study, mentions: &Mentions) -> Vec<String> {
    let mut names_in_groups = mentions.by_groups.clone();
    for text in &mentions.by_groups {
        let names: Vec<&str> = factor_names(text).collect();
        if names.is_empty() {
            continue;
        }
        let named = study.factors.iter().filter(|one| names.contains(&one.name.as_str()));
        let values = combination::over(named).into_iter();
        names_in_groups
            .extend(values.filter_map(|one| Some(substitute(text, &one).ok()?.to_string())));
    }
    names_in_groups
}

fn unused_factors(study: &Study, mentions: &Mentions) -> Vec<(String, Diagnostic)> {
    let templates: Vec<&str> =
        mentions.outside_factors.iter().flat_map(|text| factor_names(text)).collect();
    let names: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    let meant = mentioned(&names, &templates);
    let unused = names.iter().filter(|name| !meant.contains(*name)).map(|name| {
        let finding = Diagnostic::error(
            code::UNUSED_FACTOR,
            format!("the factor `{name}` is never used: every trial would be the same"),
        )
        .hint(format!("write `\"{{{name}}}\"` where it should act, or remove it"));
        (format!("factors.{name}"), finding)
    });
    unused.collect()
}

fn unused_parts<'s>(
    names: impl Iterator<Item = &'s String>,
    by_groups: &[String],
    table: &str,
    finding: impl Fn(&str) -> Diagnostic,
) -> Vec<(String, Diagnostic)> {
    let names: Vec<&str> = names.map(String::as_str).collect();
    let by_groups: Vec<&str> = by_groups.iter().map(String::as_str).collect();
    let meant = mentioned(&names, &by_groups);
    names
        .iter()
        .filter(|name| !meant.contains(*name))
        .map(|name| (format!("{table}.{name}"), finding(name)))
        .collect()
}

/// Those of the names that are mentioned, spelt right or almost.
fn mentioned<'n>(names: &[&'n str], mentions: &[&str]) -> Vec<&'n str> {
    mentions.iter().filter_map(|mention| closest(mention, names.iter().copied())).collect()
}
