//! Values of host settings, settings that cancel each other, and definitions that are never used.

use assay_host::knob::{HostSetting, host_setting};
use assay_sys::closest;
use assay_sys::diagnostic::Diagnostic;

use super::{Check, Complaint, template_of, when};
use crate::reader::{Mentions, Spans};
use crate::syntax::{Bindings, DropCaches, Scalar, Study};
use crate::template::{Templated, factor_names, substitute};
use crate::{code, combination};

pub(super) fn settings(check: &mut Check<'_>) {
    let settings = &check.study.settings;
    for (name, value) in &settings.values {
        let Some(setting) = host_setting(name) else { continue };
        check.each_value(value, &path(setting), &format!("`{}`", setting.key()), |scalar| {
            setting.normal(&scalar.to_string()).err().map(|message| Complaint {
                code: code::SETTING_VALUE,
                message,
                expected: setting.range.to_string(),
                remedy: format!("write {}", setting.range),
            })
        });
    }
    for (index, (name, value)) in settings.values.iter().enumerate() {
        let Some(setting) = host_setting(name) else { continue };
        let Some(rival) = setting.rival() else { continue };
        let later = settings.values.iter().skip(index + 1);
        if let Some((_, other)) = later.into_iter().find(|(name, _)| name == rival.name) {
            cancelling(check, (setting, value), (rival, other));
        }
    }
    if let Some(drop) = &settings.drop_caches {
        check.each_value(drop, "drop_caches", "`drop_caches`", |scalar| {
            DropCaches::from_scalar(scalar).is_none().then(|| Complaint {
                code: code::SETTING_VALUE,
                message: format!("`drop_caches` is `{scalar}`"),
                expected: "`true`, `false`, or 1, 2 or 3".to_owned(),
                remedy: "write `true` for 3: the page cache and the kernel's reclaimable \
                         slab objects"
                    .to_owned(),
            })
        });
    }
}

/// The path of the value in the file.
fn path(setting: &HostSetting) -> String {
    let table = if setting.is_sysctl() { "sysctls" } else { "thp" };
    format!("{table}.{}", setting.name)
}

/// Reports two rivals unless exactly one of them is other than 0.
fn cancelling(
    check: &mut Check<'_>,
    one: (&HostSetting, &Templated<Scalar>),
    two: (&HostSetting, &Templated<Scalar>),
) {
    for bindings in check.combinations_of(&[template_of(one.1), template_of(two.1)]) {
        let (Some(first), Some(second)) = (number(one, &bindings), number(two, &bindings)) else {
            continue;
        };
        if (first == 0) != (second == 0) {
            continue;
        }
        let (one_name, two_name) = (one.0.name, two.0.name);
        let message = match first {
            0 => format!("both `{one_name}` and `{two_name}` are 0{}", when(&bindings)),
            _ => format!(
                "`{one_name}` and `{two_name}` cannot both be set{}: the kernel zeroes the one \
                 when the other is written",
                when(&bindings)
            ),
        };
        let mut finding = Diagnostic::error(code::RIVAL_SETTINGS, message)
            .hint("set one of the two, and set the other to 0 or remove it");
        for (setting, label) in
            [(two.0, "expected 0 here or for the other setting"), (one.0, "the other setting")]
        {
            if let Some(span) = check.span(&path(setting)) {
                finding = finding.at(span, label);
            }
        }
        check.findings.push(finding);
        return;
    }
}

fn number(setting: (&HostSetting, &Templated<Scalar>), bindings: &Bindings) -> Option<u64> {
    let scalar = setting.1.resolve(bindings).ok()?;
    setting.0.normal(&scalar.to_string()).ok()?.parse().ok()
}

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
