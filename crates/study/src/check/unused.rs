//! Definitions that are never used.

use assay_diagnostic::{Diagnostic, closest};

use crate::code;
use crate::combination;
use crate::reader::{Mentions, Spans};
use crate::syntax::Study;
use crate::template::{factor_names, substitute};

/// Reports definitions that are never used. Misspelt mentions and those that are part of another
/// mistake count, so that one slip gives one mistake.
pub(crate) fn unused(study: &Study, mentions: &Mentions, spans: &Spans) -> Vec<Diagnostic> {
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
