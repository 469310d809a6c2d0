//! The page of `--manifest`: what a manifest asked for, against what stands in files.

use assay_audit::{Fulfilment, Row, Standing, Told};

use super::section::Section;
use super::{Sections, known, named};
use crate::error::Error;
use crate::page::Fact;

/// The page of a manifest as one HTML document that loads nothing and runs nothing.
///
/// # Errors
/// A template is defective.
pub fn html(answer: &Told) -> Result<String, Error> {
    let rows = || answer.fulfilments.iter().flat_map(|one| &one.rows);
    let count =
        |is: fn(&Standing) -> bool| rows().filter(|row| is(&row.standing)).count().to_string();
    let missing = answer.fulfilments.iter().filter(|one| one.not_found.is_some()).count();
    Sections {
        command: "assay audit --manifest",
        host: known(&answer.host),
        taken_at: &answer.taken_at,
        question: "What manifests asked for, and what stands in the files of the groups that got it.",
        about: vec![
            Fact::new("Kept", count(|one| *one == Standing::Kept)),
            Fact::new("Differ", count(|one| *one == Standing::Differs)),
            Fact::new("Not looked at", count(|one| matches!(one, Standing::NotLookedAt(_)))),
            Fact::new("Not found", missing.to_string()),
        ],
        sections: answer.fulfilments.iter().enumerate().map(section).collect(),
    }
    .html()
}

fn section((at, one): (usize, &Fulfilment)) -> Section {
    let mut section = Section::new(format!("subject-{at}"), one.subject.clone());
    if let Some(group) = &one.group {
        section = section.text(named(one.owner.as_ref(), group));
    }
    if let Some(what) = &one.not_found {
        section = section.text(format!("Not found: {what}."));
    } else if one.rows.is_empty() {
        section = section.text("Nothing was asked for.");
    }
    let columns = ["Asked for", "", "File", "It says", "It should say", "How"];
    let lines: Vec<String> =
        one.not_looked_at.iter().map(|line| format!("Not looked at: {line}")).collect();
    section.table(None, &columns, one.rows.iter().map(row).collect()).lines(&lines)
}

fn row(row: &Row) -> Vec<String> {
    let (word, why) = match &row.standing {
        Standing::Kept => ("kept", row.how.clone()),
        Standing::Differs => ("DIFFERS", row.how.clone()),
        Standing::NotLookedAt(why) => ("not looked at", why.clone()),
    };
    let text = |of: &Option<String>| of.clone().unwrap_or_else(|| "-".to_owned());
    vec![
        row.setting.clone(),
        word.to_owned(),
        text(&row.file),
        text(&row.found),
        text(&row.expected),
        why,
    ]
}
