//! A section of the summary: names and numbers, shared by page, terminal and JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Recorded;
use crate::number;

/// One number with its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// Machine-readable name.
    id: String,
    /// Display name.
    pub(super) label: String,
    /// `None` if the kernel does not provide it.
    value: Option<f64>,
    /// The number with its unit.
    pub(super) shown: String,
}

/// A group of related numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Section {
    /// Machine-readable name.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) rows: Vec<Row>,
    /// Text lines below the numbers.
    pub(super) lines: Vec<String>,
    /// Why there are no numbers.
    pub(super) not_available: Option<String>,
}

impl Section {
    pub(super) fn new(id: &'static str, title: &'static str) -> Self {
        Self { id, title, rows: Vec::new(), lines: Vec::new(), not_available: None }
    }

    /// A section that is not available on this machine.
    pub(super) fn absent(id: &'static str, title: &'static str, why: String) -> Self {
        Self { not_available: Some(why), ..Self::new(id, title) }
    }

    /// Adds a number with `decimals` decimals; a missing value is shown as not available.
    pub(super) fn row(
        &mut self,
        id: &str,
        label: &str,
        value: Option<f64>,
        unit: &str,
        decimals: usize,
    ) {
        let shown = match value {
            Some(value) if unit.is_empty() => number::fixed(value, decimals),
            Some(value) => format!("{} {unit}", number::fixed(value, decimals)),
            None => "not available".to_owned(),
        };
        self.rows.push(Row { id: id.to_owned(), label: label.to_owned(), value, shown });
    }

    /// Adds an amount of bytes.
    pub(super) fn bytes(&mut self, id: &str, label: &str, value: Option<f64>) {
        let (unit, size, decimals) = match value {
            Some(value) if value.abs() >= 1_073_741_824.0 => ("GiB", 1_073_741_824.0, 2),
            _ => ("MiB", 1_048_576.0, 1),
        };
        self.row(id, label, value.map(|value| value / size), unit, decimals);
        if let Some(row) = self.rows.last_mut() {
            row.value = value;
        }
    }

    pub(super) fn document(self) -> SectionDocument {
        match self.not_available {
            Some(not_available) => SectionDocument::Missing { not_available },
            None => SectionDocument::Numbers(
                self.rows.into_iter().map(|row| (row.id, row.value)).collect(),
            ),
        }
    }
}

/// A section for programs.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum SectionDocument {
    /// This host has none of its numbers.
    Missing {
        /// Why.
        not_available: String,
    },
    /// Numbers by name; `null` if the kernel does not provide one.
    Numbers(BTreeMap<String, Option<f64>>),
}

/// A section with the numbers of a source, or the reason why it has none.
pub(super) fn section_from(
    recorded: &Recorded<'_>,
    source: &str,
    id: &'static str,
    title: &'static str,
    fill: impl FnOnce(&mut Section),
) -> Section {
    if recorded.trial.tables(source).is_empty() {
        return Section::absent(id, title, recorded.trial.why_missing(source));
    }
    let mut section = Section::new(id, title);
    fill(&mut section);
    section
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_value_is_shown_as_such_and_is_null_in_json() {
        let mut section = Section::new("x", "X");
        section.row("a", "a", None, "pages/s", 1);
        section.bytes("b", "b", Some(3.0 * 1_048_576.0));
        assert_eq!(section.rows[0].shown, "not available");
        assert_eq!(section.rows[1].shown, "3.0 MiB");
        assert_eq!(json!(section.document()), json!({"a": null, "b": 3_145_728.0}));
        let absent = Section::absent("x", "X", "no PMU".to_owned());
        assert_eq!(json!(absent.document()), json!({"not_available": "no PMU"}));
    }
}
