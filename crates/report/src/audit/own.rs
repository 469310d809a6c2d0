//! The page of `--self`: what a process sees of its own groups.

use assay_audit::{Membership, Own};
use assay_facts::Available;

use super::section::{Section, not_looked_at};
use super::{Sections, effective_cells, known, named};
use crate::error::Error;
use crate::page::Fact;

/// The page of one's own groups as one HTML document that loads nothing and runs nothing.
///
/// # Errors
/// A template is defective.
pub fn html(own: &Own) -> Result<String, Error> {
    Sections {
        command: "assay audit --self",
        host: known(&own.host),
        taken_at: &own.taken_at,
        question: "The control groups of the process that looked, as seen from inside.",
        about: vec![
            Fact::new("Linux", known(&own.kernel)),
            Fact::new("Findings", own.findings.len().to_string()),
        ],
        sections: vec![groups(own), limits(own), findings(own), not_looked_at(&own.not_looked_at)],
    }
    .html()
}

fn groups(own: &Own) -> Section {
    let rows = own.memberships.iter().map(membership).collect();
    let settings = own.memberships.iter().flat_map(|one| &one.settings);
    let settings: Vec<Vec<String>> =
        settings.map(|one| vec![one.file.clone(), one.value.clone()]).collect();
    let is_new = settings.is_empty();
    let section = Section::new("groups", "This process is in")
        .table(None, &["Hierarchy", "Group", "Above it"], rows)
        .table(Some("Set here".to_owned()), &["File", "It says"], settings);
    if is_new { section.text("Nothing here differs from a new group.") } else { section }
}

fn membership(one: &Membership) -> Vec<String> {
    let group = match &one.group {
        Available::Value(path) => named(one.owner.as_ref(), path),
        Available::NotAvailable(why) => format!("not available: {why}"),
    };
    let above = if one.sees_above { "can be seen" } else { "cannot be seen" };
    vec![one.hierarchy.clone(), group, above.to_owned()]
}

fn limits(own: &Own) -> Section {
    let columns =
        ["Group", "#CPUs", "#memory.max, bytes", "#memory.high, bytes", "#Of all CPUs by weights"];
    let rows = own.effective.iter().map(effective_cells).collect();
    let section = Section::new("limits", "Limits that hold, as far as can be seen");
    let section = section.table(None, &columns, rows);
    if section.is_empty() { section.text("None that can be seen.") } else { section }
}

fn findings(own: &Own) -> Section {
    let section = Section::new("findings", "Findings");
    if own.findings.is_empty() {
        return section.text("No rule found anything wrong.");
    }
    own.findings.iter().fold(section, |section, one| {
        let readings: Vec<String> = one
            .readings
            .iter()
            .map(|reading| format!("{}: {}", reading.file, reading.value))
            .collect();
        let head =
            format!("{}  {}: {}", one.code, named(one.owner.as_ref(), &one.group), one.sentence);
        section.text(head).lines(&readings).text(format!("What to do: {}", one.remedy))
    })
}
