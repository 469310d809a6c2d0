//! Parts of a page that is nothing but text and tables.

use serde::Serialize;

/// A part with a heading.
#[derive(Debug, Serialize)]
pub(super) struct Section {
    id: String,
    heading: String,
    parts: Vec<Part>,
}

/// What a part is made of.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Part {
    Text { text: String },
    Lines { lines: Vec<String> },
    Table { title: Option<String>, columns: Vec<Column>, rows: Vec<Vec<String>> },
}

#[derive(Debug, Serialize)]
struct Column {
    name: &'static str,
    is_number: bool,
}

impl Section {
    pub(super) fn new(id: impl Into<String>, heading: impl Into<String>) -> Self {
        Self { id: id.into(), heading: heading.into(), parts: Vec::new() }
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The same with a paragraph.
    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text { text: text.into() });
        self
    }

    /// The same with a list, if it has any line.
    pub(super) fn lines(mut self, lines: &[String]) -> Self {
        if !lines.is_empty() {
            self.parts.push(Part::Lines { lines: lines.to_vec() });
        }
        self
    }

    /// The same with a table, if it has any row. Names of columns that begin with `#` are of numbers.
    pub(super) fn table(
        mut self,
        title: Option<String>,
        columns: &[&'static str],
        rows: Vec<Vec<String>>,
    ) -> Self {
        if !rows.is_empty() {
            let column = |name: &&'static str| match name.strip_prefix('#') {
                Some(name) => Column { name, is_number: true },
                None => Column { name, is_number: false },
            };
            let columns = columns.iter().map(column).collect();
            self.parts.push(Part::Table { title, columns, rows });
        }
        self
    }
}

/// What was left out, as every page of an audit ends.
pub(super) fn not_looked_at(lines: &[String]) -> Section {
    let section = Section::new("not-looked-at", "Not looked at").lines(lines);
    if section.is_empty() { section.text("Nothing was left out.") } else { section }
}
