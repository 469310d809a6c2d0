//! Tables: made row by row from a list, kept column by column.

use crate::escape::line;

use super::Tag;
use super::paint::Paint;

/// The rank of a column that only a page has.
pub const PAGE: u8 = u8::MAX;

/// What a cell says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// A text. On a page, what stands between backticks is code, and newlines begin new lines.
    Text(String),
    /// A word with a colour; a terminal does without its mark.
    Word(Tag),
    /// Names with relative links; a terminal shows only the names.
    Links(Vec<(String, String)>),
}

impl Cell {
    /// Its text on a terminal.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Word(tag) => tag.word.clone(),
            Self::Links(links) => {
                links.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Tag> for Cell {
    fn from(tag: Tag) -> Self {
        Self::Word(tag)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// One column.
#[derive(Debug, Clone)]
pub struct Column {
    /// What it holds.
    pub heading: String,
    /// Whether that is a name, which is never capitalised.
    pub is_name: bool,
    /// The unit of its numbers; empty without one.
    pub unit: String,
    /// Whether its cells are numbers, which are aligned at the right.
    pub is_number: bool,
    /// Whether its cells are sentences, which may be wrapped.
    pub is_prose: bool,
    /// 0 is never dropped on a narrow terminal; of the others the highest is dropped first, and
    /// [`PAGE`] is only on pages.
    dispensable: u8,
    /// One for each row.
    pub cells: Vec<Cell>,
}

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it is about, on a page.
    pub caption: Option<String>,
    /// The columns; the first names the rows.
    pub columns: Vec<Column>,
    /// Number of rows.
    pub rows: usize,
    /// Why rows lack numbers.
    pub missing: Vec<Option<String>>,
}

/// A table with a row for each of these.
pub struct Rows<'r, R> {
    rows: &'r [R],
    table: Table,
}

/// A column heading: a word, or a word and a unit.
pub struct Heading(String, String, bool);

impl From<&str> for Heading {
    fn from(word: &str) -> Self {
        Self(word.to_owned(), String::new(), false)
    }
}

/// A name, which stays as it is.
impl From<String> for Heading {
    fn from(name: String) -> Self {
        Self(name, String::new(), true)
    }
}

impl From<(&str, &str)> for Heading {
    fn from((word, unit): (&str, &str)) -> Self {
        Self(word.to_owned(), unit.to_owned(), false)
    }
}

impl<'r, R> Rows<'r, R> {
    /// A table without columns.
    #[must_use]
    pub fn new(rows: &'r [R]) -> Self {
        Self { rows, table: Table { rows: rows.len(), ..Table::default() } }
    }

    /// Adds a column of words; `dispensable` is 0 if it must never be dropped.
    #[must_use]
    pub fn left<C: Into<Cell>>(
        self,
        heading: impl Into<Heading>,
        dispensable: u8,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        self.column(heading, (false, false), dispensable, cell)
    }

    /// Adds a column of numbers: with equal decimals the decimal points align.
    #[must_use]
    pub fn right<C: Into<Cell>>(
        self,
        heading: impl Into<Heading>,
        dispensable: u8,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        self.column(heading, (true, false), dispensable, cell)
    }

    /// Adds a column of sentences, which only a page has.
    #[must_use]
    pub fn prose<C: Into<Cell>>(self, heading: impl Into<Heading>, cell: impl Fn(&R) -> C) -> Self {
        self.column(heading, (false, true), PAGE, cell)
    }

    fn column<C: Into<Cell>>(
        mut self,
        heading: impl Into<Heading>,
        (is_number, is_prose): (bool, bool),
        dispensable: u8,
        cell: impl Fn(&R) -> C,
    ) -> Self {
        let Heading(heading, unit, is_name) = heading.into();
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        self.table.columns.push(Column {
            heading,
            is_name,
            unit,
            is_number,
            is_prose,
            dispensable,
            cells,
        });
        self
    }

    /// With the reason why a row lacks numbers.
    #[must_use]
    pub fn missing(mut self, why: impl Fn(&R) -> Option<String>) -> Self {
        self.table.missing = self.rows.iter().map(why).collect();
        self
    }

    /// With a caption.
    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.table.caption = Some(caption.into());
        self
    }
}

impl<R> From<Rows<'_, R>> for Table {
    fn from(rows: Rows<'_, R>) -> Self {
        rows.table
    }
}

impl Table {
    /// The lines on a terminal, a faint heading first, indented by two. If the width does not suffice, the
    /// most dispensable columns are dropped.
    #[must_use]
    pub fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let on_terminal = self.columns.iter().filter(|column| column.dispensable != PAGE);
        // A name with a newline in it would look like a separate row.
        let plain = |cell: &Cell| line(&cell.plain()).into_owned();
        let mut shown: Vec<(&Column, Vec<String>, usize)> = on_terminal
            .map(|column| {
                let heading = format!("{} {}", column.heading, column.unit);
                let heading = line(heading.trim_end()).into_owned();
                let texts: Vec<String> =
                    std::iter::once(heading).chain(column.cells.iter().map(plain)).collect();
                let width = texts.iter().map(|text| columns(text)).max().unwrap_or(0);
                (column, texts, width)
            })
            .collect();
        while shown.iter().map(|(.., width)| width + 2).sum::<usize>() > width {
            let most = shown.iter().map(|(column, ..)| column.dispensable).max().unwrap_or(0);
            if most == 0 {
                break;
            }
            shown.retain(|(column, ..)| column.dispensable != most);
        }
        let row = |index: usize| {
            let cells = shown.iter().map(|(column, texts, width)| {
                let text = &texts[index];
                let space = " ".repeat(width - columns(text));
                let painted = match index.checked_sub(1).map(|row| &column.cells[row]) {
                    Some(Cell::Word(tag)) => paint.tone(tag.tone, text),
                    _ => text.clone(),
                };
                if column.is_number {
                    format!("  {space}{painted}")
                } else {
                    format!("  {painted}{space}")
                }
            });
            cells.collect::<String>()
        };
        let mut lines = vec![paint.faint(&row(0))];
        lines.extend((1..=self.rows).map(row));
        lines
    }
}

/// Width of a text in terminal columns. Reports contain only narrow characters.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.chars().count()
}
