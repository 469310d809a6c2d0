//! Wrapped text and aligned columns.

use assay_escape::line;

use super::paint::Paint;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Align {
    Left,
    Right,
}

/// One column: heading, alignment, cells, and its priority on a narrow terminal.
#[derive(Debug, Clone)]
struct Column {
    heading: String,
    align: Align,
    cells: Vec<String>,
    /// 0 is never dropped; of the others the highest is dropped first.
    dispensable: u8,
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().chain([&self.heading]).map(|text| columns(text)).max().unwrap_or(0)
    }
}

/// A table with a line for each of these rows.
pub(super) struct Table<'r, R> {
    rows: &'r [R],
    columns: Vec<Column>,
}

impl<'r, R> Table<'r, R> {
    pub(super) const fn new(rows: &'r [R]) -> Self {
        Self { rows, columns: Vec::new() }
    }

    /// Adds a column of texts; `dispensable` is 0 if it must never be dropped.
    pub(super) fn left(
        self,
        heading: impl Into<String>,
        dispensable: u8,
        cell: impl Fn(&R) -> String,
    ) -> Self {
        self.column(&heading.into(), Align::Left, dispensable, cell)
    }

    /// Adds a column of numbers: with equal decimals the decimal points align.
    pub(super) fn right(
        self,
        heading: impl Into<String>,
        dispensable: u8,
        cell: impl Fn(&R) -> String,
    ) -> Self {
        self.column(&heading.into(), Align::Right, dispensable, cell)
    }

    fn column(
        mut self,
        heading: &str,
        align: Align,
        dispensable: u8,
        cell: impl Fn(&R) -> String,
    ) -> Self {
        // A name with a newline in it would look like a separate row.
        let cells = self.rows.iter().map(|row| line(&cell(row)).into_owned()).collect();
        let heading = line(heading).into_owned();
        self.columns.push(Column { heading, align, cells, dispensable });
        self
    }

    /// The lines, a faint heading first, indented by two. If the width does not suffice, the most
    /// dispensable columns are dropped.
    pub(super) fn lines(mut self, width: usize, paint: Paint) -> Vec<String> {
        let needed = |shown: &[Column]| shown.iter().map(|one| one.width() + 2).sum::<usize>();
        while needed(&self.columns) > width {
            let most = self.columns.iter().map(|column| column.dispensable).max().unwrap_or(0);
            if most == 0 {
                break;
            }
            self.columns.retain(|column| column.dispensable != most);
        }
        let heading = paint.faint(&row(&self.columns, |column| &column.heading));
        let cells = (0..self.rows.len()).map(|index| row(&self.columns, |one| &one.cells[index]));
        std::iter::once(heading).chain(cells).collect()
    }
}

/// Width of a text in terminal columns. Reports contain only narrow characters.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

fn row<'c>(shown: &'c [Column], cell: impl Fn(&'c Column) -> &'c str) -> String {
    let mut line = String::new();
    for column in shown {
        let text = cell(column);
        let space = " ".repeat(column.width().saturating_sub(columns(text)));
        let (before, after) = match column.align {
            Align::Left => ("", space.as_str()),
            Align::Right => (space.as_str(), ""),
        };
        line.push_str(&format!("  {before}{text}{after}"));
    }
    line
}

/// Wraps a text to `width` columns; lines after the first are indented. A word longer than a line
/// gets its own line.
pub(super) fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let indentation = text.len() - text.trim_start().len();
    let mut lines = vec![" ".repeat(indentation)];
    let mut fresh = true;
    for word in text.split_whitespace() {
        let line = lines.last().map_or("", String::as_str);
        let gap = if fresh { 0 } else { 1 };
        if !fresh && columns(line) + gap + columns(word) > width {
            lines.push(format!("{indent}{word}"));
        } else if let Some(line) = lines.last_mut() {
            line.push_str(&" ".repeat(gap));
            line.push_str(word);
        }
        fresh = false;
    }
    lines
}

/// The lines as one text, which ends with a newline.
pub(crate) fn joined(lines: &[String]) -> String {
    let mut text = lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint { color: false };

    #[test]
    fn numbers_are_right_aligned() {
        let rows = [("a", "53.33"), ("task128", "6.67")];
        let table = Table::new(&rows);
        let table =
            table.left("group", 0, |row| row.0.into()).right("share", 0, |row| row.1.into());
        assert_eq!(
            table.lines(80, PLAIN),
            ["  group    share", "  a        53.33", "  task128   6.67"]
        );
    }

    #[test]
    fn newline_in_a_name_is_escaped() {
        let table = Table::new(&["a\nkept", "\u{1b}[31mb"]).left("group", 0, |row| (*row).into());
        assert_eq!(table.lines(80, PLAIN), ["  group    ", "  a\\nkept  ", "  \\x1b[31mb"]);
    }

    #[test]
    fn narrow_terminal_drops_the_dispensable_columns_first() {
        let shown = |width| {
            let cell = |row: &&str| (*row).to_owned();
            let table = Table::new(&["xxxxxxxxxx"]);
            let table = table.left("a", 0, cell).left("b", 1, cell).left("c", 2, cell);
            table.lines(width, PLAIN)[0].clone()
        };
        assert!(shown(36).contains('c'));
        assert!(!shown(35).contains('c') && shown(35).contains('b'));
        assert!(shown(10).contains('a'), "indispensable columns stay");
    }

    #[test]
    fn lines_are_wrapped_between_words_and_indented() {
        assert_eq!(wrap("one two three", 7, "  "), ["one two", "  three"]);
        assert_eq!(wrap("  - one two", 7, "    "), ["  - one", "    two"]);
    }
}
