//! Wrapped text and aligned columns.

use assay_escape::line;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Align {
    Left,
    /// For numbers: with equal decimals the decimal points align.
    Right,
}

/// One column: heading, alignment, cells, and its priority on a narrow terminal.
#[derive(Debug, Clone)]
pub(super) struct Column {
    heading: String,
    align: Align,
    cells: Vec<String>,
    /// 0 is never dropped; of the others the highest is dropped first.
    dispensable: u8,
}

impl Column {
    pub(super) fn new(
        heading: impl Into<String>,
        align: Align,
        dispensable: u8,
        cells: Vec<String>,
    ) -> Self {
        // A name with a newline in it would look like a separate row.
        let cells = cells.into_iter().map(|cell| line(&cell).into_owned()).collect();
        Self { heading: line(&heading.into()).into_owned(), align, cells, dispensable }
    }

    fn width(&self) -> usize {
        self.cells.iter().chain([&self.heading]).map(|text| columns(text)).max().unwrap_or(0)
    }
}

/// Width of a text in terminal columns. Reports contain only narrow characters.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Formats aligned rows, headings first, indented by two. If the width does not suffice, the most
/// dispensable columns are dropped.
pub(super) fn table(mut shown: Vec<Column>, width: usize) -> Vec<String> {
    let needed = |shown: &[Column]| shown.iter().map(|column| column.width() + 2).sum::<usize>();
    while needed(&shown) > width {
        let most = shown.iter().map(|column| column.dispensable).max().unwrap_or(0);
        if most == 0 {
            break;
        }
        shown.retain(|column| column.dispensable != most);
    }
    let rows = shown.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let heading = row(&shown, |column| &column.heading);
    let cells = (0..rows)
        .map(|index| row(&shown, |column| column.cells.get(index).map_or("", String::as_str)));
    std::iter::once(heading).chain(cells).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn numbers_are_right_aligned() {
        let shown = vec![
            Column::new("group", Align::Left, 0, cells(&["a", "task128"])),
            Column::new("share", Align::Right, 0, cells(&["53.33", "6.67"])),
        ];
        assert_eq!(table(shown, 80), ["  group    share", "  a        53.33", "  task128   6.67"]);
    }

    #[test]
    fn newline_in_a_name_is_escaped() {
        let shown = vec![Column::new("group", Align::Left, 0, cells(&["a\nkept", "\u{1b}[31mb"]))];
        assert_eq!(table(shown, 80), ["  group    ", "  a\\nkept  ", "  \\x1b[31mb"]);
    }

    #[test]
    fn narrow_terminal_drops_the_dispensable_columns_first() {
        let shown = |width| {
            let column = |name: &str, dispensable| {
                Column::new(name, Align::Left, dispensable, cells(&["xxxxxxxxxx"]))
            };
            table(vec![column("a", 0), column("b", 1), column("c", 2)], width)[0].clone()
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
