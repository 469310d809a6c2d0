//! Wrapped text and aligned columns.

use assay_escape::line;

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Align {
    Left,
    /// For numbers: with the same count of decimals their points stand below each other.
    Right,
}

/// One column: heading, alignment, cells, and how early it is given up on a narrow terminal.
#[derive(Debug, Clone)]
pub(super) struct Column {
    heading: String,
    align: Align,
    cells: Vec<String>,
    /// 0 stays whatever the width; of the others the highest goes first.
    dispensable: u8,
}

impl Column {
    pub(super) fn new(
        heading: impl Into<String>,
        align: Align,
        dispensable: u8,
        cells: Vec<String>,
    ) -> Self {
        // A name with a line end in it would look like a row of its own.
        let cells = cells.iter().map(|cell| line(cell).into_owned()).collect();
        Self { heading: line(&heading.into()).into_owned(), align, cells, dispensable }
    }

    fn width(&self) -> usize {
        self.cells.iter().chain([&self.heading]).map(|text| columns(text)).max().unwrap_or(0)
    }
}

/// How many columns of a terminal a text takes. What reports write is narrow throughout.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Rows of aligned cells, the headings first, indented by two. Columns that do not fit are given
/// up, the most dispensable first.
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

/// Lines of at most `width` columns; from the second on they begin with `indent`. A word that is
/// longer than a line keeps a line of its own.
pub(super) fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let own = text.len() - text.trim_start().len();
    let mut lines = vec![" ".repeat(own)];
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
    fn numbers_end_below_each_other() {
        let shown = vec![
            Column::new("group", Align::Left, 0, cells(&["a", "task128"])),
            Column::new("share", Align::Right, 0, cells(&["53.33", "6.67"])),
        ];
        assert_eq!(table(shown, 80), ["  group    share", "  a        53.33", "  task128   6.67"]);
    }

    #[test]
    fn a_name_is_no_row_of_its_own() {
        let shown = vec![Column::new("group", Align::Left, 0, cells(&["a\nkept", "\u{1b}[31mb"]))];
        assert_eq!(table(shown, 80), ["  group      ", "  a\\nkept    ", "  \\x1b[31mb"]);
    }

    #[test]
    fn a_narrow_terminal_loses_the_dispensable_columns_first() {
        let shown = |width| {
            let column = |name: &str, dispensable| {
                Column::new(name, Align::Left, dispensable, cells(&["xxxxxxxxxx"]))
            };
            table(vec![column("a", 0), column("b", 1), column("c", 2)], width)[0].clone()
        };
        assert!(shown(36).contains('c'));
        assert!(!shown(35).contains('c') && shown(35).contains('b'));
        assert!(shown(10).contains('a'), "what cannot be spared stays");
    }

    #[test]
    fn lines_are_broken_between_words_and_indented() {
        assert_eq!(wrap("one two three", 7, "  "), ["one two", "  three"]);
        assert_eq!(wrap("  - one two", 7, "    "), ["  - one", "    two"]);
    }
}
