//! `sysctls`, `thp` and `drop_caches`: settings of the whole machine.

use std::ops::Range;

use assay_diagnostic::Diagnostic;
use assay_knob::{HostSetting, THP, host_setting, host_settings, suggest_host_setting};

use crate::code;
use crate::reader::{At, Reader, quoted};
use crate::section::Section;
use crate::syntax::{HostSettings, Scalar};
use crate::template::Templated;

type Values = Vec<(String, Templated<Scalar>)>;

pub(crate) fn read(reader: &mut Reader<'_>, study: &Section<'_>) -> HostSettings {
    let mut values = study.part(reader, "sysctls", sysctls);
    values.extend(study.part(reader, "thp", huge_pages));
    HostSettings { values, drop_caches: study.templated(reader, "drop_caches") }
}

fn sysctls(reader: &mut Reader<'_>, table: &At<'_>) -> Values {
    let mut values = vec![];
    for (name, key_span, at) in reader.entries(table) {
        if at.value.is_table() {
            values.extend(unquoted(reader, name, key_span, &at));
        } else {
            values.extend(one(reader, name, key_span, &at));
        }
    }
    values
}

/// Without quotes `vm.dirty_ratio = 5` is a table `vm` to TOML.
fn unquoted(
    reader: &mut Reader<'_>,
    family: &str,
    key_span: Range<usize>,
    table: &At<'_>,
) -> Values {
    let mistake = Diagnostic::error(code::UNKNOWN_SETTING, format!("unknown sysctl `{family}`"))
        .at(key_span, "expected the whole name of a sysctl in quotes");
    let mut named = reader.unquoted(table, mistake, family);
    named.retain(|(name, _)| host_setting(name).is_some());
    // The values are still checked, under the path where the checks expect them.
    named
        .into_iter()
        .filter_map(|(name, at)| {
            let at = reader.at(at.value, at.span, format!("sysctls.{name}"));
            let value = reader.templated(&at, &format!("`{name}`"))?;
            Some((name, value))
        })
        .collect()
}

/// A word is the mode of `enabled`; a table names files below the directory of huge pages.
fn huge_pages(reader: &mut Reader<'_>, at: &At<'_>) -> Values {
    let enabled = format!("{THP}enabled");
    if !at.value.is_table() {
        let value = reader.templated(at, "`thp`");
        // Recorded under the path of the table, so that later checks find its location.
        reader.at(at.value, at.span.clone(), format!("thp.{enabled}"));
        return value.map(|value| (enabled, value)).into_iter().collect();
    }
    let mut values = vec![];
    for (name, key_span, at) in reader.entries(at) {
        let name = format!("{THP}{name}");
        values.extend(one(reader, &name, key_span, &at));
    }
    values
}

/// A setting with its value. The value of an unknown setting is checked as that of the one that was
/// probably meant.
fn one(
    reader: &mut Reader<'_>,
    name: &str,
    key_span: Range<usize>,
    at: &At<'_>,
) -> Option<(String, Templated<Scalar>)> {
    let is_huge = name.starts_with(THP);
    let meant = match host_setting(name) {
        Some(setting) => Some(setting.name),
        None => {
            reader.add(unknown(name, key_span));
            let meant = suggest_host_setting(name).map(|setting| setting.name);
            meant.filter(|meant| meant.starts_with(THP) == is_huge)
        }
    };
    // Recorded where the checks expect it.
    let table = if is_huge { "thp" } else { "sysctls" };
    let path = format!("{table}.{}", meant.unwrap_or(name));
    let at = &reader.at(at.value, at.span.clone(), path);
    let value = reader.templated(at, &format!("`{name}`"))?;
    Some((meant?.to_owned(), value))
}

fn unknown(name: &str, span: Range<usize>) -> Diagnostic {
    let is_huge = name.starts_with(THP);
    let shown = name.strip_prefix(THP).unwrap_or(name);
    let what = if is_huge { "setting of huge pages" } else { "sysctl" };
    let meant = suggest_host_setting(name).filter(|setting| setting.is_sysctl() != is_huge);
    let hint = match meant {
        Some(meant) => format!("did you mean `{}`?", meant.key()),
        None => {
            let family = name.split('.').next().unwrap_or(name);
            let related: Vec<&str> = host_settings()
                .iter()
                .filter(|setting| setting.name.split('.').next() == Some(family))
                .map(HostSetting::key)
                .collect();
            match related.is_empty() {
                true => {
                    "docs/reference/settings.md lists all settings that can be restored".to_owned()
                }
                false => format!("the settings of `{family}` are {}", quoted(&related)),
            }
        }
    };
    Diagnostic::error(code::UNKNOWN_SETTING, format!("unknown {what} `{shown}`"))
        .at(span, "expected a name listed in docs/reference/settings.md")
        .hint(hint)
}
