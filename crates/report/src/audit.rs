//! The pages of audits: what was found on a live host, offline and without scripts.

mod contended;
mod manifest;
mod own;
mod section;

use assay_audit::{Audit, Class, Effective, Finding, Limit};
use assay_contention::Contention;
use assay_facts::Available;
use assay_facts::owner::Owner;
use serde::Serialize;

use crate::error::Error;
use crate::page::{Code, Fact, filled};
pub use manifest::html as manifest_html;
pub use own::html as own_html;
use section::Section;

#[derive(Serialize)]
struct Page<'a> {
    host: String,
    taken_at: &'a str,
    about: Vec<Fact>,
    classes: Vec<ClassView<'a>>,
    worth: Vec<WorthRow>,
    protection: Vec<ProtectionRow>,
    effective: Vec<EffectiveRow>,
    sections: Vec<Section>,
    not_looked_at: &'a [String],
    code: Code,
}

/// A page that is nothing but sections.
#[derive(Serialize)]
struct Sections<'a> {
    command: &'static str,
    host: String,
    taken_at: &'a str,
    question: &'static str,
    about: Vec<Fact>,
    sections: Vec<Section>,
}

impl Sections<'_> {
    fn html(self) -> Result<String, Error> {
        #[derive(Serialize)]
        struct Page<'a> {
            #[serde(flatten)]
            sections: Sections<'a>,
            code: Code,
        }
        filled("sections.html", Page { sections: self, code: Code::without_scripts() })
    }
}

#[derive(Serialize)]
struct ClassView<'a> {
    word: &'static str,
    heading: &'static str,
    count: usize,
    findings: Vec<FindingView<'a>>,
}

#[derive(Serialize)]
struct FindingView<'a> {
    /// The group with its owner.
    shown: String,
    #[serde(flatten)]
    finding: &'a Finding,
}

#[derive(Serialize)]
struct WorthRow {
    group: String,
    weight: String,
    of_level: String,
    of_machine: String,
}

#[derive(Serialize)]
struct ProtectionRow {
    group: String,
    file: &'static str,
    set: String,
    effective: String,
}

#[derive(Serialize)]
struct EffectiveRow {
    group: String,
    cpus: String,
    memory_max: String,
    memory_high: String,
    of_machine: String,
}

fn known(of: &Available<String>) -> String {
    of.value().cloned().unwrap_or_else(|| "unknown".to_owned())
}

/// The page of an audit as one HTML document that loads nothing and runs nothing; with what was seen, if the host was watched.
///
/// # Errors
/// A template is defective.
pub fn html(audit: &Audit, contended: Option<&Contention>) -> Result<String, Error> {
    let about = vec![
        Fact::new("Linux", known(&audit.kernel)),
        Fact::new("Hierarchies", audit.hierarchies.join(", ")),
        Fact::new("Groups", audit.groups.to_string()),
        Fact::new("With settings", audit.with_settings.to_string()),
        Fact::new("Findings", audit.findings.len().to_string()),
    ];
    filled(
        "audit.html",
        Page {
            host: known(&audit.host),
            taken_at: &audit.taken_at,
            about,
            classes: Class::ALL.into_iter().map(|class| class_view(audit, class)).collect(),
            worth: worth(audit),
            protection: protection(audit),
            effective: audit.effective.iter().map(effective).collect(),
            sections: contended.map(contended::sections).unwrap_or_default(),
            not_looked_at: &audit.not_looked_at,
            code: Code::without_scripts(),
        },
    )
}

fn class_view<'a>(
    audit: &'a Audit,
    (word, class, heading): (&'static str, Class, &'static str),
) -> ClassView<'a> {
    let findings: Vec<FindingView> = audit
        .findings
        .iter()
        .filter(|finding| finding.class == class)
        .map(|finding| FindingView {
            shown: named(finding.owner.as_ref(), &finding.group),
            finding,
        })
        .collect();
    ClassView { word, heading, count: findings.len(), findings }
}

fn named(owner: Option<&Owner>, path: &str) -> String {
    owner.map_or_else(|| path.to_owned(), |owner| format!("{owner}  {path}"))
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn worth(audit: &Audit) -> Vec<WorthRow> {
    let row = |one: &assay_audit::Worth| WorthRow {
        group: named(one.owner.as_ref(), &one.group),
        weight: one.weight(),
        of_level: percent(one.of_level),
        of_machine: percent(one.of_machine),
    };
    audit.worth.iter().map(row).collect()
}

fn protection(audit: &Audit) -> Vec<ProtectionRow> {
    let rows = audit.protection.iter().map(|one| ProtectionRow {
        group: named(one.owner.as_ref(), &one.group),
        file: one.file,
        set: one.set.to_string(),
        effective: match &one.effective {
            Available::Value(bytes) => bytes.to_string(),
            Available::NotAvailable(why) => format!("not available: {why}"),
        },
    });
    rows.collect()
}

fn effective(one: &Effective) -> EffectiveRow {
    let none = || "-".to_owned();
    let bytes = |limit: Option<&Limit<u64>>| {
        limit.map_or_else(none, |limit| from(limit.value, &limit.from, &one.group))
    };
    let cpus = one.cpus.as_ref();
    EffectiveRow {
        group: named(one.owner.as_ref(), &one.group),
        cpus: cpus.map_or_else(none, |limit| from(limit.value, &limit.from, &one.group)),
        memory_max: bytes(one.memory_max.as_ref()),
        memory_high: bytes(one.memory_high.as_ref()),
        of_machine: one.of_machine.map_or_else(none, percent),
    }
}

/// The same as the cells of a row.
fn effective_cells(one: &Effective) -> Vec<String> {
    let EffectiveRow { group, cpus, memory_max, memory_high, of_machine } = effective(one);
    vec![group, cpus, memory_max, memory_high, of_machine]
}

fn from(value: impl std::fmt::Display, from: &str, own: &str) -> String {
    if from == own { value.to_string() } else { format!("{value} ({from})") }
}
